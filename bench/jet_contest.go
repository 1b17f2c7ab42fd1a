package main

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// jetContests are the same contests as on RabbitMQ. Client and server are one
// process, so that its CPU and allocations say nothing of either.
func jetContests(o options) []contest {
	return []contest{
		{
			name: "happy", messages: o.happy, prefetch: happyPrefetch,
			ours: contestant{name: "holdfast", run: ours(openJetStream, jetQueue, happyPrefetch, succeed)},
			peers: []contestant{
				{name: "Ack each", run: jetAckEach(happyPrefetch, func(_ context.Context, m jetstream.Msg) error { return m.Ack() })},
				{name: "DoubleAck each", run: jetAckEach(happyPrefetch, func(ctx context.Context, m jetstream.Msg) error { return m.DoubleAck(ctx) })},
			},
			targets: []float64{0.9, 0},
		},
		jetCopyContest("park", o.copies, park, "holdfast-parked", jetParked{}),
		jetCopyContest("retry", o.copies, fail, "holdfast-work", jetRung{}),
	}
}

func jetCopyContest(name string, messages int, end func() error, copies string, to jetTarget) contest {
	return contest{
		name: name, messages: messages, prefetch: copyPrefetch,
		ours:    contestant{name: "holdfast", run: ours(openJetStream, jetQueue, copyPrefetch, end), copies: copies},
		peers:   []contestant{{name: "bare pipelined loop", run: jetCopyPipelined(copyPrefetch, to), copies: jetPeer}},
		targets: []float64{0.8},
	}
}

// jetPeer is the stream of a hand-written loop's copies.
const jetPeer = "peer"

// jetTarget is where a hand-written loop puts its copies: the same kind of
// stream as the driver's.
type jetTarget interface {
	stream() jetstream.StreamConfig
	address(m *nats.Msg, number int)
}

// jetParked keeps copies for good.
type jetParked struct{}

func (jetParked) stream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: jetPeer, Subjects: []string{"peer.parked"}}
}

func (jetParked) address(m *nats.Msg, _ int) { m.Subject = "peer.parked" }

// jetRung schedules the return of each copy, which has a subject of its own.
type jetRung struct{}

func (jetRung) stream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: jetPeer, Subjects: []string{"peer.wait.>", "peer.back"}, AllowMsgSchedules: true}
}

func (jetRung) address(m *nats.Msg, number int) {
	m.Subject = "peer.wait." + strconv.Itoa(number)
	m.Header.Set("Nats-Schedule", "@at "+time.Now().Add(longRung).UTC().Format(time.RFC3339Nano))
	m.Header.Set("Nats-Schedule-Target", "peer.back")
}
