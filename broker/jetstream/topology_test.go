package jetstream

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestKeeps holds what somebody may have done to a stream of ours against what
// must not be lost; the tests of a real server hold the same against it.
func TestKeeps(t *testing.T) {
	t.Parallel()
	n := names{"holdfast"}
	work, parked := workStream(n, 1), parkedStream(n, 3)
	for _, want := range []jetstream.StreamConfig{work, parked} {
		if err := keeps(want, want); err != nil {
			t.Error(err)
		}
	}
	if parked.Replicas != 3 || work.Replicas != 1 {
		t.Error("the replicas are not passed on")
	}
	for says, change := range map[string]func(*jetstream.StreamConfig){
		"":                          func(c *jetstream.StreamConfig) { c.MaxBytes = 10; c.MaxMsgs = 10 },
		" ":                         func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 10, true },
		"has the subjects":          func(c *jetstream.StreamConfig) { c.Subjects = []string{"x"} },
		"retention":                 func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"is in memory":              func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"drops messages after 1m0s": func(c *jetstream.StreamConfig) { c.MaxAge = time.Minute },
		"drops the oldest":          func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 10, jetstream.DiscardOld },
		"drops the oldest messages": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 10 },
		"confirms nothing":          func(c *jetstream.StreamConfig) { c.NoAck = true },
		"gives messages other":      func(c *jetstream.StreamConfig) { c.SubjectTransform = &jetstream.SubjectTransformConfig{} },
	} {
		have := parked
		change(&have)
		err := keeps(have, parked)
		if strings.TrimSpace(says) == "" {
			if err != nil {
				t.Errorf("an operator's limit is refused: %v", err)
			}
			continue
		}
		wantErr(t, err, broker.ErrMismatch, "holdfast-parked", says, "nats stream edit")
	}
	have := work
	have.AllowMsgSchedules = false
	wantErr(t, keeps(have, work), broker.ErrMismatch, "scheduled")
}

// TestBackConfig: the consumer of what has come back delivers without end, and
// as patiently as the source.
func TestBackConfig(t *testing.T) {
	t.Parallel()
	f := found{source: source{"ORDERS", "billing"}, ackWait: 7 * time.Second, maxDeliver: 3}
	want := backConfig(names{"ns"}, f)
	if want.Durable != "ORDERS+billing" || want.FilterSubject != "ns.back.ORDERS.billing" || want.AckWait != 7*time.Second ||
		want.MaxDeliver != -1 || want.MaxAckPending != -1 || want.AckPolicy != jetstream.AckExplicitPolicy {
		t.Errorf("%+v", want)
	}
	if !asBack(want, want) {
		t.Error("it is not what it is to be")
	}
	for what, change := range map[string]func(*jetstream.ConsumerConfig){
		"ack wait":    func(c *jetstream.ConsumerConfig) { c.AckWait++ },
		"max deliver": func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 },
		"ack pending": func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 5 },
		"back-off":    func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{time.Second} },
		"headers":     func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true },
		"inactive":    func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = time.Second },
		"batch":       func(c *jetstream.ConsumerConfig) { c.MaxRequestBatch = 1 },
		"expires":     func(c *jetstream.ConsumerConfig) { c.MaxRequestExpires = 1 },
	} {
		have := want
		change(&have)
		if asBack(have, want) {
			t.Errorf("%s does not matter", what)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	now := time.Now()
	info := func(change func(*jetstream.ConsumerInfo)) *jetstream.ConsumerInfo {
		i := &jetstream.ConsumerInfo{TimeStamp: now, Created: now, Config: jetstream.ConsumerConfig{AckWait: 30 * time.Second, MaxDeliver: -1}}
		change(i)
		return i
	}
	for says, c := range map[string]struct {
		change func(*jetstream.ConsumerInfo)
		holds  func(found) bool
	}{
		"": {func(*jetstream.ConsumerInfo) {}, func(f found) bool {
			return f.ackWait == 30*time.Second && f.maxDeliver == 0 && f.skew == 0 && !f.transient
		}},
		"back-off": {
			func(i *jetstream.ConsumerInfo) { i.Config.BackOff = []time.Duration{time.Second, time.Minute} },
			func(f found) bool { return f.ackWait == time.Second },
		},
		"transient": {
			func(i *jetstream.ConsumerInfo) { i.Config.InactiveThreshold = time.Minute },
			func(f found) bool { return f.transient },
		},
		"clock is 1m0s ahead": {
			func(i *jetstream.ConsumerInfo) { i.TimeStamp = now.Add(time.Minute) },
			func(f found) bool { return f.skew == time.Minute },
		},
		"clock is -1m0s": {
			func(i *jetstream.ConsumerInfo) { i.TimeStamp = now.Add(-time.Minute) },
			func(f found) bool { return f.skew == -time.Minute },
		},
		"is paused by its owner for 59m0s": {
			func(i *jetstream.ConsumerInfo) { i.PauseRemaining = 59 * time.Minute },
			func(f found) bool { return true },
		},
		"set it to -1": {
			func(i *jetstream.ConsumerInfo) { i.Config.MaxDeliver = 4 },
			func(f found) bool { return f.maxDeliver == 4 },
		},
		"up to 3 messages after stream sequence 7": {func(i *jetstream.ConsumerInfo) {
			i.Config.MaxDeliver = 4
			i.Delivered, i.AckFloor = jetstream.SequenceInfo{Consumer: 20, Stream: 10}, jetstream.SequenceInfo{Consumer: 17, Stream: 7}
		}, func(f found) bool { return len(f.warnings) == 2 }},
	} {
		f := describe(source{"ORDERS", "billing"}, info(c.change), now)
		told := strings.Join(f.warnings, "\n")
		if !c.holds(f) || strings.Contains(says, " ") && !strings.Contains(told, says) || says == "" && told != "" {
			t.Errorf("%s: %+v", says, f)
		}
	}
}

// TestClockSkewIsCompensated: a delay is counted by the server's clock.
func TestClockSkewIsCompensated(t *testing.T) {
	t.Parallel()
	c := mustDial(t, &fake{})
	s := &session{
		broker: &Broker{names: names{"ns"}}, conn: c, sub: broker.Subscription{Rungs: []time.Duration{time.Second}},
		source: found{source: source{"ORDERS", "billing"}, skew: time.Hour},
	}
	d := &delivery{session: s, raw: newMsg()}
	before := time.Now()
	m, stream, err := d.copyFor(broker.Settlement{Fate: broker.FateDelay, Delay: time.Second, Capture: newCapture("")})
	if err != nil || stream != "ns-work" {
		t.Fatal(stream, err)
	}
	at, err := time.Parse("@at "+time.RFC3339Nano, first(m.Header, headerSchedule))
	if err != nil {
		t.Fatal(err)
	}
	if wait := at.Sub(before); wait < time.Hour+time.Second || wait > time.Hour+time.Minute {
		t.Errorf("it waits for %v", wait)
	}
}
