package outbox

import "time"

const (
	// breakAfter is how many rows in a row a destination may fail before it is
	// left alone, trialRows how many may then try it at once, twice as many each
	// time. One row alone would let the good ones of an exchange wait for hours
	// behind many bad ones.
	breakAfter = 50
	trialRows  = 5

	firstBreak = 250 * time.Millisecond
	longBreak  = 5 * time.Second
)

// breaker leaves a destination alone that fails one row after the other. The
// zero value is closed: everything passes. now is of the relay's clock.
type breaker struct {
	failures int           // in a row, since it was open last
	trips    int           // in a row; 0 when it is closed
	until    time.Duration // when it may be tried again
	trials   int           // rows that may pass from then on
}

// ready reports whether a row could pass.
func (b *breaker) ready(now time.Duration) bool {
	return b.trips == 0 || now >= b.until && b.trials > 0
}

// admit lets a row pass, or not.
func (b *breaker) admit(now time.Duration) bool {
	if !b.ready(now) {
		return false
	}
	if b.trips > 0 {
		b.trials--
	}
	return true
}

// passed is told of a row that was published, and reports whether that closed
// the breaker.
func (b *breaker) passed() bool {
	was := b.trips > 0
	*b = breaker{}
	return was
}

// failed is told of a row that failed, and returns for how long the
// destination is left alone if that opened the breaker.
func (b *breaker) failed(now time.Duration) (wait time.Duration, opened bool) {
	if now < b.until { // it was under way when the others failed
		return 0, false
	}
	b.failures++
	if b.failures < b.most() {
		return 0, false
	}
	wait = doubled(firstBreak, b.trips, longBreak)
	b.trips++
	b.failures = 0
	b.until, b.trials = now+wait, b.most()
	return wait, true
}

// returned is told of a row that passed and says nothing about the
// destination.
func (b *breaker) returned() {
	if b.trips > 0 {
		b.trials = min(b.trials+1, b.most())
	}
}

// most is how many rows in a row may fail.
func (b *breaker) most() int {
	if b.trips == 0 {
		return breakAfter
	}
	return min(trialRows<<min(b.trips-1, 10), breakAfter)
}
