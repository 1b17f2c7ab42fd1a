package storetest

import (
	"strings"
	"testing"
)

// end is how a case ended.
type end struct{ failed, skipped bool }

func (e end) Failed() bool  { return e.failed }
func (e end) Skipped() bool { return e.skipped }

// TestTable proves what a result says of each end that a case can have.
func TestTable(t *testing.T) {
	r := Result{Name: "some store", Outcomes: conclude([]Outcome{
		{Topic: "t", Case: "passed", test: end{}},
		{Topic: "t", Case: "broken", test: end{failed: true}},
		{Topic: "t", Case: "left_by_env", test: end{skipped: true}},
		{Topic: "t", Case: "needs_locks", Status: NotForStore, Why: "it has none"},
		{Topic: "t", Case: "left_out_by_a_flag"},
	})}
	got := strings.Fields(Table(r))
	want := strings.Fields(`store passed failed not for this store
		some store 1 1 2
		some store: failed: t/broken
		some store: not for this store: t/left_by_env skipped by a function of Env
		some store: not for this store: t/needs_locks it has none`)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the table is\n%s", Table(r))
	}
}

// TestNamesAreUnique proves that a case can be found by its name.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, topic := range topics() {
		for _, c := range topic.cases {
			name := topic.name + "/" + c.name
			if seen[name] || c.run == nil {
				t.Errorf("%s comes twice or does nothing", name)
			}
			seen[name] = true
		}
	}
}
