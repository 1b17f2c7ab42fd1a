package awssqs

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestADelayBeyondWhatSQSHidesIsCutAndToldOnce(t *testing.T) {
	t.Parallel()
	var told []string
	s := &session{sub: broker.Subscription{Notify: func(n broker.Notice) { told = append(told, n.Text) }}}
	d := &delivery{session: s, wall: time.Now().Add(90 * time.Second)}
	for range 2 {
		if wait := s.clamp(d, time.Hour); wait > 90*time.Second || wait < 80*time.Second {
			t.Errorf("an hour became %v", wait)
		}
	}
	if wait := s.clamp(d, time.Minute); wait != time.Minute {
		t.Errorf("a minute became %v", wait)
	}
	if len(told) != 1 || !strings.Contains(told[0], "12h") {
		t.Errorf("told %q", told)
	}
}

func TestAWaitIsNeverShorterThanAsked(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int32{-1: 0, 0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, longestHidden: 43200} {
		if got := seconds(d); got != want {
			t.Errorf("%v became %d s, not %d", d, got, want)
		}
	}
}

func TestWhatTheHandlerAskedForIsWaitedForAtOnce(t *testing.T) {
	t.Parallel()
	set := broker.Settlement{Delay: time.Second, Capture: &broker.Capture{NotBefore: time.Now().Add(time.Minute)}}
	if wait := delayOf(set); wait < 50*time.Second {
		t.Errorf("a minute became %v", wait)
	}
	set.Capture.NotBefore = time.Time{}
	if wait := delayOf(set); wait != time.Second {
		t.Errorf("the rung became %v", wait)
	}
}

func TestADeliveryWhoseLeaseEndedIsNotSettled(t *testing.T) {
	t.Parallel()
	s := &session{open: map[*delivery]struct{}{}, changed: make(chan struct{})}
	d := &delivery{session: s, letter: &letter{id: "1", packed: &packed{}}, until: time.Now().Add(-time.Second)}
	s.open[d] = struct{}{}
	for range 2 {
		outcome := make(chan error, 1)
		d.Settle(broker.Settlement{Fate: broker.FateDone}, func(err error) { outcome <- err })
		if err := <-outcome; !isClosed(err) {
			t.Errorf("the error is %v", err)
		}
	}
}

func isClosed(err error) bool {
	return err != nil && strings.Contains(err.Error(), broker.ErrClosed.Error())
}
