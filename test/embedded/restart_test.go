package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// consumeOrders consumes until it is killed, and prints when each message
// was first in the handler once all of them are settled and one is in its handler.
func consumeOrders(dir string) error {
	s, err := openStation(dir, true)
	if err != nil {
		return err
	}
	if err := s.fill(); err != nil {
		return err
	}
	s.start()
	if err := s.awaitReady(); err != nil {
		return err
	}
	for body, at := range s.seen() {
		fmt.Println(body, at.UnixNano())
	}
	return errors.Join(untilInputEnds(), s.stop())
}

// TestRestart_keeps_what_waits_and_what_is_parked stops everything in order
// and starts it again.
func TestRestart_keeps_what_waits_and_what_is_parked(t *testing.T) {
	dir := t.TempDir()
	s, err := openStation(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.fill(); err != nil {
		t.Fatal(err)
	}
	s.start()
	if err := errors.Join(s.awaitReady(), s.stop()); err != nil {
		t.Fatal(err)
	}

	seen := s.seen()
	s = startAgain(t, dir)
	if parked := comeBack(t, s, seen); len(parked) != 1 {
		t.Errorf("parked are %q after an orderly stop", parked)
	}
	once := map[string]int{}
	for _, e := range s.done {
		once[e.body]++
	}
	for body, n := range once {
		if n != 1 {
			t.Errorf("%s was done %d times after an orderly stop", body, n)
		}
	}
}

// TestKill_keeps_what_waits_and_what_is_parked ends the process with SIGKILL
// instead, with a handler in the middle of its work.
func TestKill_keeps_what_waits_and_what_is_parked(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "consume", dir)
	seen := map[string]time.Time{}
	for range bodies {
		var body string
		var nanos int64
		if _, err := fmt.Sscan(p.line(t), &body, &nanos); err != nil {
			t.Fatal(err)
		}
		seen[body] = time.Unix(0, nanos)
	}
	p.kill(t)
	comeBack(t, startAgain(t, dir), seen)
}

func startAgain(t *testing.T, dir string) *station {
	t.Helper()
	s, err := openStation(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// comeBack waits for the three that were away and checks how they come: none
// before its time, and each as what it was. The parked one stays; a kill may
// leave a second copy of it.
func comeBack(t *testing.T, s *station, seen map[string]time.Time) (parked []string) {
	t.Helper()
	testenv.Eventually(t, processTakes, "all three come back", func() bool { return len(s.successes()) == 3 })
	done := s.successes()
	for _, want := range []success{{body: bodyStay, attempt: 1}, {body: bodyRetry, attempt: 2}, {body: bodyHold, attempt: 1, lap: 1}} {
		if got := done[want.body]; got.attempt != want.attempt || got.lap != want.lap {
			t.Errorf("%s came back as attempt %d, lap %d, and not as %d, %d", want.body, got.attempt, got.lap, want.attempt, want.lap)
		}
	}
	for _, body := range []string{bodyRetry, bodyHold} {
		waited := done[body].at.Sub(seen[body])
		t.Logf("%s came back after %v", body, waited.Round(time.Millisecond))
		if waited < away {
			t.Errorf("%s came back after %v and not after %v", body, waited, away)
		}
	}
	parked, err := s.parked(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(parked) == 0 || slices.ContainsFunc(parked, func(body string) bool { return body != bodyPark }) {
		t.Errorf("parked are %q", parked)
	}
	return parked
}
