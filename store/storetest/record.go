package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var recordCases = []testCase{
	{name: "published_is_kept_with_its_mask", run: recordPublished},
	{name: "failed_is_kept_with_its_class", run: recordFailed},
	{name: "pending_is_claimed_again", run: recordPending},
	{name: "unknown_left_for_a_human_is_never_claimed_again", run: recordLeft},
	{name: "what_is_counted_adds_up", run: recordCounts},
	{name: "several_outcomes_are_written_at_once", run: recordSeveral},
	{name: "a_row_that_moved_is_not_written", run: recordMoved},
	{name: "a_row_that_was_never_claimed_is_not_written", run: recordUnclaimed},
	{name: "a_row_of_another_lane_is_not_written", run: recordOtherLane},
	{name: "an_error_text_of_any_kind_is_kept", run: recordOddText},
}

func recordPublished(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	same(sc, "written", r.record(5, store.Outcome{ID: id, State: store.Published, Confirmed: 0b101}), []string{id})
	row := sc.row(id)
	equal(sc, "state", row.State, store.Published)
	equal(sc, "confirmed", row.Confirmed, 0b101)
	equal(sc, "class", row.Class, store.ClassNone)
	if row.PublishedAt.Before(row.PublishingSince) || row.PublishedAt.Location() != time.UTC {
		sc.Errorf("published at %v, claimed at %v", row.PublishedAt, row.PublishingSince)
	}
}

func recordFailed(sc *scene) {
	for _, class := range []store.Class{store.ClassUnrouted, store.ClassMissing, store.ClassPermission, store.ClassRefused, store.ClassInvalid, store.ClassUnknown} {
		id := sc.add(newEntry(5))[0]
		r := sc.holder(5)
		r.failed(5, class)
		row := sc.row(id)
		equal(sc, "state", row.State, store.Failed)
		equal(sc, "class", row.Class, class)
		equal(sc, "error", row.Error, "said the broker")
		equal(sc, "refusals", row.Refusals, 1)
		if row.ErrorAt.Before(row.PublishingSince) {
			sc.Errorf("the error is of %v, the claim of %v", row.ErrorAt, row.PublishingSince)
		}
	}
}

func recordPending(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	r.record(5, store.Outcome{ID: id, State: store.Pending, Confirmed: 1})
	row := sc.row(id)
	equal(sc, "state", row.State, store.Pending)
	equal(sc, "confirmed", row.Confirmed, 1)
	again := r.claim(5)
	same(sc, "claimed again", rowIDs(again), []string{id})
	equal(sc, "confirmed", again[0].Confirmed, 1)
	equal(sc, "unknowns of a row whose outcome was recorded", again[0].Unknowns, 0)
}

func recordLeft(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.left(r.claim(5)[0])
	row := sc.row(id)
	equal(sc, "state", row.State, store.Publishing)
	equal(sc, "class", row.Class, store.ClassUnknown)
	equal(sc, "error", row.Error, "no answer")
	equal(sc, "unknowns", row.Unknowns, 1)
	equal(sc, "claimed under the same lease", len(r.claim(5)), 0)
	next := sc.holder(5)
	equal(sc, "claimed under the next", len(next.claim(5)), 0)
	lanes, err := sc.s.Due(sc.ctx(), []store.Claim{next.of(5)})
	sc.must(err)
	equal(sc, "lanes that are due", len(lanes), 0)
}

func recordCounts(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	for range 3 {
		r.claim(5)
		r.record(5, store.Outcome{ID: id, State: store.Pending, Refused: true, Class: store.ClassRefused, Error: "full"})
	}
	for range 2 {
		r.claim(5)
		r.record(5, store.Outcome{ID: id, State: store.Pending, Unknown: true, Class: store.ClassUnknown, Error: "no answer"})
	}
	row := r.claim(5)[0]
	equal(sc, "refusals", row.Refusals, 3)
	equal(sc, "unknowns", row.Unknowns, 2)
	equal(sc, "the last error", row.Error, "no answer")
}

func recordSeveral(sc *scene) {
	ids := sc.add(entries(4, 5)...)
	r := sc.holder(5)
	r.claim(5)
	absent := newID()
	written := r.record(5,
		store.Outcome{ID: ids[0], State: store.Published, Confirmed: 1},
		store.Outcome{ID: ids[1], State: store.Failed, Class: store.ClassUnrouted, Error: "no queue"},
		store.Outcome{ID: absent, State: store.Published},
		store.Outcome{ID: ids[2], State: store.Pending},
		store.Outcome{ID: ids[3], State: store.Publishing, Unknown: true, Class: store.ClassUnknown, Error: "no answer"},
	)
	sameSet(sc, "written", written, ids)
	for i, want := range []store.State{store.Published, store.Failed, store.Pending, store.Publishing} {
		equal(sc, "state", sc.row(ids[i]).State, want)
	}
	equal(sc, "written of nothing", len(r.record(5)), 0)
}

func recordMoved(sc *scene) {
	ids := sc.add(entries(2, 5)...)
	r := sc.holder(5)
	r.claim(5)
	ok, err := sc.s.Fail(sc.ctx(), ids[0], r.held[5].Token, store.ClassUnknown, "by the reaper", sc.env.patience())
	sc.must(err)
	equal(sc, "failed by the reaper", ok, true)
	written := r.record(5,
		store.Outcome{ID: ids[0], State: store.Published, Confirmed: 1}, store.Outcome{ID: ids[1], State: store.Published, Confirmed: 1})
	same(sc, "written", written, ids[1:])
	equal(sc, "state", sc.row(ids[0]).State, store.Failed)
	equal(sc, "written a second time", len(r.record(5, store.Outcome{ID: ids[1], State: store.Failed})), 0)
}

func recordUnclaimed(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	equal(sc, "written", len(r.record(5, store.Outcome{ID: id, State: store.Published, Confirmed: 1})), 0)
	equal(sc, "state", sc.row(id).State, store.Pending)
}

func recordOtherLane(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5, 6)
	r.claim(5)
	r.record(6, store.Outcome{ID: id, State: store.Published, Confirmed: 1})
	equal(sc, "state", sc.row(id).State, store.Publishing)
}

// recordOddText proves that what a broker says stops no row: neither bytes that
// are no text, nor a zero byte, nor a length.
func recordOddText(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	same(sc, "written", r.record(5, store.Outcome{ID: id, State: store.Failed, Class: store.ClassRefused, Error: "a\x00b \xff żółw"}), []string{id})
	equal(sc, "error", sc.row(id).Error, "a\uFFFDb \uFFFD żółw")
}
