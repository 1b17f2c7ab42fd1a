package demo

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
)

const (
	// linesKept is how many of the last lines a view shows.
	linesKept = 5

	// lineEvery is how soon the next line of the same place may come, so that
	// they can be read. What is left out still counts.
	lineEvery = 700 * time.Millisecond
)

// Line is something that happened to an order, for people.
type Line struct {
	At    time.Time
	What  string
	Order string
	Text  string

	place place
}

// tally follows the orders by the events of the consumer.
type tally struct {
	mu       sync.Mutex
	at       map[string]place
	count    [places]int
	parkedAt map[string]time.Time
	lines    []Line
	last     [places]time.Time

	// each is told every line as it comes; nil is nobody.
	each func(Line)
}

func newTally(orders int) *tally {
	t := &tally{at: map[string]place{}, parkedAt: map[string]time.Time{}}
	t.count[coming] = orders
	return t
}

// put notes where an order is.
func (t *tally) put(id string, p place, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move(id, p, since)
}

// move returns where the order was.
func (t *tally) move(id string, p place, since time.Time) place {
	was := t.at[id]
	t.at[id] = p
	t.count[was]--
	t.count[p]++
	delete(t.parkedAt, id)
	if p == parked {
		t.parkedAt[id] = since
	}
	return was
}

var eventPlaces = map[holdfast.EventKind]place{
	holdfast.EventDone: done, holdfast.EventDelayed: delayed, holdfast.EventHeld: held,
	holdfast.EventParked: parked, holdfast.EventDiscarded: dropped, holdfast.EventReleased: coming,
}

// Observe implements [holdfast.Observer].
func (t *tally) Observe(e holdfast.Event) {
	p, ok := eventPlaces[e.Kind]
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.move(e.MessageID, p, e.Time)
	if text := describe(e, was); text != "" {
		t.say(Line{At: e.Time, What: string(e.Kind), Order: e.MessageID, Text: text, place: p})
	}
}

func (t *tally) say(l Line) {
	if t.each != nil {
		t.each(l)
	}
	if l.At.Sub(t.last[l.place]) < lineEvery {
		return
	}
	t.last[l.place] = l.At
	t.lines = append(t.lines, l)
	if len(t.lines) > linesKept {
		t.lines = slices.Clone(t.lines[1:])
	}
}

// oldestParked is when the order was parked that waits for the longest; zero
// when none is.
func (t *tally) oldestParked() time.Time {
	var oldest time.Time
	for _, at := range t.parkedAt {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// fill writes what the tally knows into s.
func (t *tally) fill(s *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.count = t.count
	s.OldestParked = t.oldestParked()
	s.Lines = slices.Clone(t.lines)
}

// tellEach has every line told to each from now on.
func (t *tally) tellEach(each func(Line)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.each = each
}
