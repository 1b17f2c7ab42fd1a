package broker

import (
	"math"
	"testing"
)

func TestDeliveriesCountsFromOne(t *testing.T) {
	t.Parallel()
	for counter, want := range map[int64]int{
		1: 1, 2: 2, 3: 3, 0: 0, -1: 0, math.MinInt64: 0, math.MaxInt32: math.MaxInt32, math.MaxInt64: math.MaxInt32,
	} {
		if got := Deliveries(counter); got != want {
			t.Errorf("Deliveries(%d) is %d, not %d", counter, got, want)
		}
	}
}

func TestCountResolves(t *testing.T) {
	t.Parallel()
	stamp := &Capture{Attempt: 3, Crashes: 2}
	last := &Capture{Attempt: math.MaxInt32, Crashes: math.MaxInt32}
	for _, tc := range []struct {
		name             string
		stamp            *Capture
		deliveries       int
		attempts         bool
		attempt, crashes int
	}{
		{"a first delivery", nil, 1, true, 1, 0},
		{"no counter", nil, 0, true, 1, 0},
		{"a negative counter", nil, -5, true, 1, 0},
		{"the broker's counter is the attempt", nil, 4, true, 4, 0},
		{"the broker's counter is crash evidence", nil, 4, false, 1, 3},
		{"no counter, crash evidence", nil, 0, false, 1, 0},
		{"a stamp on a first delivery", stamp, 1, true, 3, 2},
		{"a stamp without a counter", stamp, 0, true, 3, 2},
		{"a stamp and redeliveries of the copy", stamp, 3, true, 5, 2},
		{"a stamp and crashes of the copy", stamp, 3, false, 3, 4},
		{"no overflow of attempts", last, math.MaxInt32, true, math.MaxInt32, math.MaxInt32},
		{"no overflow of crashes", last, math.MaxInt32, false, math.MaxInt32, math.MaxInt32},
	} {
		attempt, crashes := Count(tc.stamp, tc.deliveries, tc.attempts)
		if attempt != tc.attempt || crashes != tc.crashes {
			t.Errorf("%s: attempt %d, crashes %d, not %d, %d", tc.name, attempt, crashes, tc.attempt, tc.crashes)
		}
	}
}

func TestCountGrowsWithEachDelivery(t *testing.T) {
	t.Parallel()
	for _, stamp := range []*Capture{nil, {Attempt: 7}} {
		before := 0
		for n := 1; n < 20; n++ {
			attempt, _ := Count(stamp, Deliveries(int64(n)), true)
			if attempt <= before {
				t.Errorf("delivery %d is attempt %d after %d", n, attempt, before)
			}
			before = attempt
		}
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	stamp := &Capture{Attempt: 3}
	if n := testing.AllocsPerRun(1000, func() { Count(stamp, Deliveries(4), true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
