package storetest

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var wakeCases = []testCase{
	{name: "due_names_the_lanes_that_have_work", run: dueNames},
	{name: "due_names_no_lane_whose_rows_are_held_back", run: dueHeldBack},
	{name: "wait_ends_with_a_commit_of_another_process", run: waitWakes},
	{name: "wait_ends_after_its_time", run: waitTimes},
	{name: "wait_ends_with_its_context", run: waitCancelled},
}

func (sc *scene) due(claims ...store.Claim) []int {
	sc.Helper()
	lanes, err := sc.s.Due(sc.ctx(), claims)
	sc.must(err)
	return lanes
}

func dueNames(sc *scene) {
	r := sc.holder(1, 2, 3, 4)
	claims := []store.Claim{r.of(1), r.of(2), r.of(3), r.of(4)}
	equal(sc, "lanes of an empty outbox", len(sc.due(claims...)), 0)
	sc.add(to(2, "orders"), to(3, "down"), to(4, "orders"), to(9, "orders"))
	claims[2].Skip = []string{"down"}
	lanes := sc.due(claims...)
	equal(sc, "lanes", len(lanes), 2)
	if lanes[0]+lanes[1] != 2+4 {
		sc.Fatalf("lanes %v, want 2 and 4", lanes)
	}
	equal(sc, "lanes of no claims", len(sc.due()), 0)
	r.publish(2)
	same(sc, "lanes after one is empty", sc.due(claims...), []int{4})
}

func dueHeldBack(sc *scene) {
	future := newEntry(1)
	future.NotBefore = time.Now().Add(time.Hour)
	sc.add(future, keyed(2, "k"), newEntry(3))
	r := sc.holder(1, 2, 3)
	r.wait(r.claim(2)[0], time.Hour)
	sc.add(keyed(2, "k"))
	r.claim(3)
	equal(sc, "lanes", len(sc.due(r.of(1), r.of(2), r.of(3))), 0)
}

// waitWakes commits again and again, since a wait may miss one.
func waitWakes(sc *scene) {
	other := sc.open()
	_, err := other.Beat(sc.ctx(), store.Relay{ID: newID(), Name: "idle", Idle: true})
	sc.must(err)
	woken := make(chan error, 1)
	ctx := sc.ctx()
	go func() { woken <- other.Wait(ctx, time.Hour) }()
	sc.eventually("the wait ends", func() bool {
		sc.add(newEntry(1))
		select {
		case err := <-woken:
			sc.must(err)
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
}

func waitTimes(sc *scene) {
	ended := make(chan error, 1)
	ctx := sc.ctx()
	go func() { ended <- sc.s.Wait(ctx, 30*time.Millisecond) }()
	sc.must(within(sc, "the end of the wait", ended))
}

// waitCancelled waits again where a wait ends early: a store may wake whom it
// has nothing to tell, as when it begins to listen.
func waitCancelled(sc *scene) {
	ctx, cancel := context.WithCancel(sc.ctx())
	ended := make(chan error, 1)
	go func() {
		for {
			if err := sc.s.Wait(ctx, time.Hour); err != nil {
				ended <- err
				return
			}
		}
	}()
	cancel()
	sc.is(within(sc, "the end of the wait", ended), context.Canceled)
	sc.is(sc.s.Wait(ctx, time.Hour), context.Canceled)
}
