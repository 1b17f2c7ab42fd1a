package demo

import (
	"time"

	"github.com/holdfast-mq/holdfast"
)

// Snapshot is how far the story is.
type Snapshot struct {
	// Sentence is what happens now.
	Sentence string

	Orders       int
	Books        holdfast.Books
	Replayed     int
	OldestParked time.Time // zero when nothing is parked
	Lines        []Line    // the last ones, oldest first
	Now          time.Time
	Elapsed      time.Duration

	count [places]int
}

// Snapshot may be called at any time and from any goroutine.
func (p *Play) Snapshot() Snapshot {
	now := time.Now()
	s := Snapshot{Orders: p.ledger.orders, Books: p.consumer.Books(), Now: now, Elapsed: now.Sub(p.began)}
	p.tally.fill(&s)
	p.mu.Lock()
	act := p.act
	s.Replayed = p.replayed
	p.mu.Unlock()
	s.Sentence = act.live(s)
	return s
}
