package storetest

import (
	"fmt"
	"strings"
)

// Status is what came of a case. The set is closed.
type Status string

// The statuses.
const (
	// Passed: the promise is kept.
	Passed Status = "passed"

	// Failed: it is not, or the case could not find out.
	Failed Status = "failed"

	// NotForStore: the case was not run; Outcome.Why says why.
	NotForStore Status = "not for this store"
)

// Outcome is what came of one case.
type Outcome struct {
	// Topic and Case name the promise. Together they are unique and the same
	// for every store.
	Topic string
	Case  string

	Status Status

	// Why says why a case was not run.
	Why string

	test ended // of a case that was run
}

// ended is a [testing.T] that has ended.
type ended interface {
	Failed() bool
	Skipped() bool
}

// Result is what came of one [Run].
type Result struct {
	// Name is Env.Name.
	Name string

	// Outcomes has every case in the order of the suite, except those that the
	// flags of go test left out.
	Outcomes []Outcome
}

// Count counts the cases of one status.
func (r *Result) Count(s Status) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == s {
			n++
		}
	}
	return n
}

// Table shows results beside each other: a row for each store, and below it
// what did not pass. The columns are the same in every table.
func Table(results ...Result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-24s %6s  %6s  %s\n", "store", "passed", "failed", "not for this store")
	for _, r := range results {
		fmt.Fprintf(&text, "%-24s %6d  %6d  %18d\n", r.Name, r.Count(Passed), r.Count(Failed), r.Count(NotForStore))
	}
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Status != Passed {
				fmt.Fprintf(&text, "%s: %s: %s/%s %s\n", r.Name, o.Status, o.Topic, o.Case, o.Why)
			}
		}
	}
	return text.String()
}

// conclude asks the tests that were run, all of which have ended by now, what
// came of them.
func conclude(outcomes []Outcome) (concluded []Outcome) {
	for _, o := range outcomes {
		switch {
		case o.Status == NotForStore:
		case o.test == nil: // left out by -run or -failfast
			continue
		case o.test.Failed():
			o.Status = Failed
		case o.test.Skipped():
			o.Status, o.Why = NotForStore, "skipped by a function of Env"
		default:
			o.Status = Passed
		}
		o.test = nil
		concluded = append(concluded, o)
	}
	return concluded
}
