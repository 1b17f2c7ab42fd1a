package main

import (
	"testing"
	"testing/synctest"
)

// TestCoreAllocatesWithinItsBound is not timed, so that it can be a test.
func TestCoreAllocatesWithinItsBound(t *testing.T) {
	rows, err := measureCore(t.Context(), options{rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].met() != "yes" {
		t.Errorf("the core makes %.2f allocations for each message; the bound is %d", rows[0].Ours, coreBound)
	}
}

func TestClockStandsStillUntilItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(1, 1)
		go func() {
			c.pass()
			c.pass()
			c.stop()
		}()
		synctest.Wait()
		select {
		case <-c.last:
			t.Error("a message passed before the clock started")
		default:
		}
		c.start()
		<-c.last
	})
}
