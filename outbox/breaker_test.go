package outbox

import (
	"testing"
	"time"
)

func failures(b *breaker, n int, now time.Duration) {
	for range n {
		b.failed(now)
	}
}

func TestBreaker_opens_after_failures_in_a_row(t *testing.T) {
	var b breaker
	failures(&b, breakAfter-1, 0)
	b.passed()
	failures(&b, breakAfter-1, 0)
	if !b.admit(0) {
		t.Fatal("it opens too early")
	}
	wait, opened := b.failed(0)
	if !opened || wait != firstBreak || b.ready(0) || b.admit(wait-1) {
		t.Fatalf("after %d failures in a row: opened %v for %v", breakAfter, opened, wait)
	}
	if _, again := b.failed(0); again {
		t.Error("what was under way opens it again")
	}
}

func TestBreaker_lets_trials_pass(t *testing.T) {
	var b breaker
	failures(&b, breakAfter, 0)
	for i := range trialRows + 1 {
		if got, want := b.admit(firstBreak), i < trialRows; got != want {
			t.Errorf("trial %d passes: %v", i, got)
		}
	}
	b.returned()
	if !b.ready(firstBreak) {
		t.Error("a trial without a result is not given back")
	}
	failures(&b, trialRows-1, firstBreak)
	if wait, opened := b.failed(firstBreak); !opened || wait != 2*firstBreak || b.trials != 2*trialRows {
		t.Errorf("after trials that failed: opened %v for %v, %d trials", opened, wait, b.trials)
	}
	if !b.passed() || !b.admit(0) {
		t.Error("a success does not close it")
	}
	if b.passed() {
		t.Error("the second success closes it again")
	}
}

func TestBreaker_is_bounded(t *testing.T) {
	var b breaker
	for range 20 {
		failures(&b, breakAfter, b.until)
	}
	if b.until > 20*longBreak || b.trials != breakAfter {
		t.Errorf("it waits for %v, and has %d trials", b.until, b.trials)
	}
}

func TestDoubled(t *testing.T) {
	for n, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		if got := doubled(1, n, 10); got != want {
			t.Errorf("doubled %d times it is %d, want %d", n, got, want)
		}
	}
	if doubled(time.Second, 1_000_000, time.Hour) != time.Hour || doubled(time.Hour, 0, time.Second) != time.Second {
		t.Error("it exceeds its bound")
	}
}
