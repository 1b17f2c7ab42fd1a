package brokertest

import (
	"slices"
	"testing"
)

// end is how a case ended.
type end struct{ failed, skipped bool }

func (e end) Failed() bool  { return e.failed }
func (e end) Skipped() bool { return e.skipped }

// TestConclude proves what a Result says of each end that a case can have.
func TestConclude(t *testing.T) {
	r := Result{Outcomes: conclude([]Outcome{
		{Topic: "t", Case: "passed", test: end{}},
		{Topic: "t", Case: "failed", test: end{failed: true}},
		{Topic: "t", Case: "skipped", test: end{skipped: true}},
		{Topic: "t", Case: "undeclared", Status: NotForBroker, Cause: Undeclared, Why: "Delay is not declared"},
		{Topic: "t", Case: "left out by a flag"},
	})}
	want := []Outcome{
		{Topic: "t", Case: "passed", Status: Passed},
		{Topic: "t", Case: "failed", Status: Failed},
		{Topic: "t", Case: "skipped", Status: NotForBroker, Cause: Skipped, Why: "skipped by a function of Env"},
		{Topic: "t", Case: "undeclared", Status: NotForBroker, Cause: Undeclared, Why: "Delay is not declared"},
	}
	if !slices.Equal(r.Outcomes, want) {
		t.Errorf("concluded\n %+v, not\n %+v", r.Outcomes, want)
	}
	if p, f, n := r.Count(Passed), r.Count(Failed), r.Count(NotForBroker); p != 1 || f != 1 || n != 2 {
		t.Errorf("%d passed, %d failed, %d not for this broker", p, f, n)
	}
}

// TestNamesAreUnique keeps topic and case a key, for tables of several brokers.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, tp := range topics() {
		for _, c := range tp.cases {
			name := tp.name + "/" + c.name
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
}
