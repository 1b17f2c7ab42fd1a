package demo

import (
	"errors"
	"sync"
	"time"
)

// errDown is what the service meets while billing is down.
var errDown = errors.New("billing is down")

// billing is what the service depends on. It is down once in a story: after a
// number of charges, for some time.
type billing struct {
	after   int           // how many charges go well before
	lasts   time.Duration // counted from the first charge that fails, so that one does
	changed func(down bool)

	mu      sync.Mutex
	charges int
	until   time.Time // zero before the outage
	back    bool
}

// charge fails while billing is down.
func (b *billing) charge(now time.Time) error {
	down, told := b.ask(now)
	if told {
		b.changed(down)
	}
	if down {
		return errDown
	}
	return nil
}

// ask reports whether billing is down, and whether that is news.
func (b *billing) ask(now time.Time) (down, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.charges < b.after, b.back:
		b.charges++
		return false, false
	case b.until.IsZero():
		b.until = now.Add(b.lasts)
		return true, true
	case now.Before(b.until):
		return true, false
	default:
		b.back = true
		return false, true
	}
}
