package triage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// Find returns the one message that ref names and leaves it as it is. ref is a
// capture id or the first eight characters or more of one, a message id, or a
// place in the queue: #1 is the head.
//
// It returns [ErrNotFound], or an [AmbiguousError] when several messages fit.
// Two copies of one message, which a crash can leave, are one: the first is
// returned.
func Find(ctx context.Context, s broker.Sifter, p Place, ref string) (*broker.Stored, error) {
	return find(ctx, s, p, ref, 0)
}

func find(ctx context.Context, s broker.Sifter, p Place, ref string, window int) (*broker.Stored, error) {
	if place, ok := strings.CutPrefix(ref, "#"); ok {
		return findAt(ctx, s, p, place, window)
	}
	if ref == "" {
		return nil, fmt.Errorf("triage: an empty id names no message")
	}
	f := finder{ref: ref, seen: map[string]bool{}}
	if _, err := List(ctx, s, p, ListOptions{Window: window}, f.look); err != nil {
		return nil, err
	}
	return f.result(p.Queue)
}

// finder prefers an exact fit to any number of prefixes.
type finder struct {
	ref   string
	best  *broker.Stored
	fit   identity
	seen  map[string]bool // what counts as one message
	names []string
}

func (f *finder) look(m *broker.Stored) error {
	fit := hasID(m, f.ref)
	if fit == notHis || fit < f.fit {
		return nil
	}
	if fit > f.fit {
		f.fit, f.best, f.names = fit, nil, nil
		clear(f.seen)
	}
	one := Name(m)
	if m.Capture == nil {
		// Message ids may repeat, and then they are several messages.
		one = fmt.Sprintf("%s at #%d", one, m.Position+1)
	}
	if f.seen[one] {
		return nil
	}
	f.seen[one] = true
	f.names = append(f.names, one)
	if f.best == nil {
		f.best = m
	}
	return nil
}

func (f *finder) result(queue string) (*broker.Stored, error) {
	switch len(f.names) {
	case 0:
		return nil, fmt.Errorf("%w: %q in %s", ErrNotFound, f.ref, queue)
	case 1:
		return f.best, nil
	default:
		return nil, &AmbiguousError{ID: f.ref, Fits: f.names}
	}
}

func findAt(ctx context.Context, s broker.Sifter, p Place, place string, window int) (*broker.Stored, error) {
	n, err := strconv.Atoi(place)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("triage: #%s is not a place in a queue: the head is #1", place)
	}
	var found *broker.Stored
	_, err = List(ctx, s, Place{Queue: p.Queue}, ListOptions{Look: n, Window: window}, func(m *broker.Stored) error {
		if m.Position == n-1 {
			found = m
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("%w: fewer than %d wait in %s", ErrNotFound, n, p.Queue)
	}
	if meant, _ := p.has(found); !meant {
		return nil, fmt.Errorf("%w: #%d in %s is not a message of %s", ErrNotFound, n, p.Queue, p.Of)
	}
	return found, nil
}
