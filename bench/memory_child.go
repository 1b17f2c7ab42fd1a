package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

// The consuming process of the memory run is this program with these set.
const (
	childURL   = "HOLDFAST_BENCH_CHILD_URL"
	childTotal = "HOLDFAST_BENCH_CHILD_TOTAL"
)

const (
	reportEvery = 10_000

	// Memory as it is goes up and down with the collector's cycle, so a mark
	// is the median of several samples on the way to it.
	samples     = 21
	sampleEvery = 500
)

// soak consumes all messages and writes its progress, with the memory at the
// two marks.
func soak(ctx context.Context, url string, out io.Writer) error {
	total, err := strconv.Atoi(os.Getenv(childTotal))
	if err != nil {
		return fmt.Errorf("%s: %w", childTotal, err)
	}
	b, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: url})
	if err != nil {
		return err
	}
	defer b.Close()
	run, stop := context.WithCancel(ctx)
	defer stop()
	m := &meter{total: total, out: json.NewEncoder(out), stop: stop}
	consumer, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:   source,
		Handler: func(context.Context, *holdfast.Message) error { m.pass(); return nil },
	})
	if err != nil {
		return err
	}
	err = consumer.Run(run)
	return errors.Join(err, m.err, checkBooks(consumer.Books(), total))
}

// meter is called by one handler at a time.
type meter struct {
	total int
	out   *json.Encoder
	stop  func()

	seen int
	asIs []float64
	err  error
}

func (m *meter) pass() {
	m.seen++
	left := m.left()
	if left >= 0 && left < samples*sampleEvery && left%sampleEvery == 0 {
		m.sample()
	}
	switch {
	case left == 0:
		m.mark()
	case m.seen%reportEvery == 0:
		m.report(progress{Seen: m.seen})
	}
	if m.seen == m.total {
		m.stop()
	}
}

// left is how many messages there are until the next mark.
func (m *meter) left() int {
	if m.seen <= firstMark {
		return firstMark - m.seen
	}
	return m.total - m.seen
}

func (m *meter) sample() {
	kib, err := resident()
	m.asIs = append(m.asIs, kib)
	m.note(err)
}

func (m *meter) mark() {
	p := progress{Seen: m.seen, AsIs: median(m.asIs)}
	debug.FreeOSMemory()
	var err error
	p.Settled, err = resident()
	m.note(err)
	m.asIs = m.asIs[:0]
	m.report(p)
}

func (m *meter) report(p progress) { m.note(m.out.Encode(p)) }

// note keeps the first error and ends the run: half a measurement is none.
func (m *meter) note(err error) {
	if err != nil && m.err == nil {
		m.err = err
		m.stop()
	}
}
