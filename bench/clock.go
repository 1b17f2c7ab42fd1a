package main

import (
	"context"
	"runtime"
	"time"
)

// clock times one run. Each contestant calls pass for every message, where
// its handler would be. The first messages warm the contestant up: then it
// stands still, with as many messages prefetched as it may have, until the
// clock starts. So connecting, declaring and the one-at-a-time start of a
// Holdfast consumer are not in the figures.
type clock struct {
	warm, total int
	seen        int

	warmed chan struct{} // closed by the contestant when it stands still
	open   chan struct{} // closed when the clock starts
	last   chan struct{} // closed by the contestant at its last message

	began, ended reading
}

func newClock(warm, messages int) *clock {
	return &clock{
		warm: warm, total: warm + messages,
		warmed: make(chan struct{}), open: make(chan struct{}), last: make(chan struct{}),
	}
}

// pass is called from one goroutine.
func (c *clock) pass() {
	c.seen++
	switch c.seen {
	case c.warm:
		close(c.warmed)
		<-c.open
	case c.total:
		close(c.last)
	}
}

// done reports whether the last message was seen. It is for the goroutine
// that calls pass.
func (c *clock) done() bool { return c.seen >= c.total }

func (c *clock) start() {
	runtime.GC() // of what filling the queue left behind
	c.began = read()
	close(c.open)
}

// stop is called by the contestant when its last acknowledgement is written.
// How long it then takes to close is not in the figures; whether the broker
// has everything is looked at afterwards.
func (c *clock) stop() { c.ended = read() }

// result is what one run took.
type result struct {
	rate   float64 // messages in a second
	allocs float64 // per message
	cpu    float64 // microseconds of this process per message

	// Of the command alone.
	size float64 // megabytes
	wall float64 // milliseconds

	// Of the readers alone.
	read float64 // microseconds per message
}

func (c *clock) result() result {
	n := float64(c.total - c.warm)
	return result{
		rate:   n / c.ended.at.Sub(c.began.at).Seconds(),
		allocs: float64(c.ended.mallocs-c.began.mallocs) / n,
		cpu:    float64((c.ended.cpu - c.began.cpu).Microseconds()) / n,
	}
}

type reading struct {
	at      time.Time
	mallocs uint64
	cpu     time.Duration
}

func read() reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{at: time.Now(), mallocs: m.Mallocs, cpu: processTime()}
}

// sleep lets the broker come to rest; it returns early with ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
