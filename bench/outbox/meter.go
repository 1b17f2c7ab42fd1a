package main

import (
	"sync"
	"time"
)

// meter times one run: from when a tenth of the rows are done to when all are. So connecting, taking leases and the
// first plans of the database are not in the figures.
type meter struct {
	warm, total int
	done        chan struct{} // closed when all are

	mu           sync.Mutex
	seen         int
	began, ended reading
}

type reading struct {
	rows int
	at   time.Time
	cpu  time.Duration
}

func newMeter(total int) *meter {
	return &meter{warm: total / 10, total: total, done: make(chan struct{})}
}

// add says that n more rows are done: published, confirmed, and recorded.
func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.seen
	m.seen += n
	now := reading{rows: m.seen, at: time.Now(), cpu: processTime()}
	if before < m.warm && m.seen >= m.warm {
		m.began = now
	}
	if before < m.total && m.seen >= m.total {
		m.ended = now
		close(m.done)
	}
}

// result is what one run took.
type result struct {
	rate float64 // rows in a second
	cpu  float64 // microseconds of this process for each row
}

func (m *meter) result() result {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := float64(m.ended.rows - m.began.rows)
	return result{
		rate: n / m.ended.at.Sub(m.began.at).Seconds(),
		cpu:  float64((m.ended.cpu - m.began.cpu).Microseconds()) / n,
	}
}
