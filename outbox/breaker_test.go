package outbox

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	var b breaker
	for range breakAfter - 1 {
		if _, opened := b.failed(0); opened || !b.admit(0) {
			t.Fatal("it opens too early")
		}
	}
	b.passed()
	for range breakAfter - 1 {
		b.failed(0)
	}
	wait, opened := b.failed(0)
	if !opened || wait != firstBreak || b.ready(0) || b.admit(wait-1) {
		t.Fatalf("after %d failures in a row: opened %v for %v", breakAfter, opened, wait)
	}
	if _, again := b.failed(0); again {
		t.Error("what was under way opens it again")
	}
	for i := range trialRows + 1 {
		if got, want := b.admit(wait), i < trialRows; got != want {
			t.Errorf("trial %d passes: %v", i, got)
		}
	}
	b.returned()
	if !b.ready(wait) {
		t.Error("a trial without a result is not given back")
	}
	for range trialRows - 1 {
		b.failed(wait)
	}
	if longer, opened := b.failed(wait); !opened || longer != 2*wait || b.trials != 2*trialRows {
		t.Errorf("after a trial that failed: opened %v for %v, %d trials", opened, longer, b.trials)
	}
	for range 20 * breakAfter {
		b.failed(b.until)
	}
	if b.until > 30*longBreak || b.trials != breakAfter {
		t.Errorf("it waits for %v, and has %d trials", b.until, b.trials)
	}
	if !b.passed() || !b.admit(0) {
		t.Error("a success does not close it")
	}
	if b.passed() {
		t.Error("the second success closes it again")
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
