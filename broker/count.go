package broker

import "math"

// Deliveries normalises a broker's own counter, so that a first delivery is 1
// on every broker. 0 says that the broker keeps none for this message: the
// counter is absent, 0 or negative. A driver whose broker counts from 0 adds
// one before.
func Deliveries(counter int64) int {
	return int(min(max(counter, 0), math.MaxInt32))
}

// Count resolves which count counts: the stamp of a copy that Holdfast made,
// the broker's counter, or neither. stamp is the message's valid capture or
// nil, and deliveries what [Deliveries] made of the broker's counter for this
// very copy. attempts says what a redelivery means on this broker, as in
// [Capabilities]: an attempt, or evidence of a crash.
//
// A stamp is never replaced. What the broker has counted on the stamped copy
// since comes on top, so that the result grows with each delivery.
func Count(stamp *Capture, deliveries int, attempts bool) (attempt, crashes int) {
	attempt = 1
	if stamp != nil {
		attempt, crashes = stamp.Attempt, stamp.Crashes
	}
	again := max(deliveries-1, 0)
	if attempts {
		return add(attempt, again), crashes
	}
	return attempt, add(crashes, again)
}

// add does not overflow, whatever a counter says.
func add(a, b int) int { return int(min(int64(a)+int64(b), math.MaxInt32)) }
