package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var statusCases = []testCase{
	{name: "an_empty_outbox_has_no_groups", run: statusEmpty},
	{name: "rows_are_counted_by_state_destination_and_class", run: statusGroups},
	{name: "the_oldest_is_since_it_may_be_published", run: statusOldest},
	{name: "a_publishing_row_is_as_old_as_its_claim", run: statusClaimed},
}

func (sc *scene) groups() map[store.Group]store.Group {
	sc.Helper()
	status, err := sc.s.Status(sc.ctx())
	sc.must(err)
	groups := map[store.Group]store.Group{}
	for _, g := range status.Groups {
		key := store.Group{State: g.State, Destination: g.Destination, Class: g.Class}
		if _, twice := groups[key]; twice {
			sc.Errorf("a group comes twice: %v", key)
		}
		groups[key] = g
	}
	return groups
}

func statusEmpty(sc *scene) {
	equal(sc, "groups", len(sc.groups()), 0)
}

func statusGroups(sc *scene) {
	r := sc.holder(5)
	sc.add(to(5, "a"), to(5, "a"))
	r.publish(5)
	sc.add(to(5, "a"))
	r.failed(5, store.ClassMissing)
	sc.add(to(5, "a"))
	r.failed(5, store.ClassPermission)
	sc.add(to(5, "b"))
	r.claim(5)
	sc.add(to(5, "a"), to(5, "b"), to(5, "b"), to(5, "b"))
	groups := sc.groups()
	equal(sc, "groups", len(groups), 6)
	for key, want := range map[store.Group]int{
		{State: store.Published, Destination: "a"}:                            2,
		{State: store.Failed, Destination: "a", Class: store.ClassMissing}:    1,
		{State: store.Failed, Destination: "a", Class: store.ClassPermission}: 1,
		{State: store.Publishing, Destination: "b"}:                           1,
		{State: store.Pending, Destination: "a"}:                              1,
		{State: store.Pending, Destination: "b"}:                              3,
	} {
		equal(sc, "count of "+string(key.State)+" "+key.Destination+" "+string(key.Class), groups[key].Count, want)
	}
}

func statusOldest(sc *scene) {
	early, future := to(5, "a"), to(5, "b")
	early.NotBefore = time.Now().Add(-2 * time.Hour)
	future.NotBefore = time.Now().Add(time.Hour)
	plain := to(5, "c")
	ids := sc.add(early, future, plain, to(5, "c"))
	for _, id := range ids[:3] {
		sc.place.Backdate(sc.T, Created, id, 5*time.Hour)
	}
	groups := sc.groups()
	for destination, want := range map[string]time.Duration{"a": 2 * time.Hour, "b": 0, "c": 5 * time.Hour} {
		got := groups[store.Group{State: store.Pending, Destination: destination}].Oldest
		if got < want-time.Second || got > want+time.Hour {
			sc.Errorf("the oldest of %s is %v old, want %v", destination, got, want)
		}
	}
}

func statusClaimed(sc *scene) {
	id := sc.add(to(5, "a"))[0]
	sc.holder(5).claim(5)
	sc.place.Backdate(sc.T, Created, id, 5*time.Hour)
	sc.place.Backdate(sc.T, Claimed, id, 3*time.Hour)
	got := sc.groups()[store.Group{State: store.Publishing, Destination: "a"}].Oldest
	if got < 3*time.Hour || got > 4*time.Hour {
		sc.Errorf("the oldest is %v old, want 3h", got)
	}
}
