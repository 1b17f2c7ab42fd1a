package awssqs

import (
	"testing"
	"time"
)

func TestAPlanGivesTheFirstLookAndForgetsWhatHasPassed(t *testing.T) {
	t.Parallel()
	p, now := newPlan(), time.Unix(1_700_000_000, 0)
	idle := now.Add(time.Minute)
	if got := p.first(idle); got != idle {
		t.Errorf("an empty plan says %v", got)
	}
	p.add(now.Add(30 * time.Second))
	p.add(now.Add(1050 * time.Millisecond))
	p.add(now.Add(time.Hour))
	if got, want := p.first(idle), now.Add(1100*time.Millisecond); !got.Equal(want) {
		t.Errorf("the first look is at %v, not %v", got, want)
	}
	p.pass(now.Add(2 * time.Second))
	if got, want := p.first(idle), now.Add(30*time.Second); !got.Equal(want) {
		t.Errorf("the next look is at %v, not %v", got, want)
	}
	select {
	case <-p.changed:
	default:
		t.Error("nothing tells of a change")
	}
}
