package storetest

import "testing"

// topic is a group of cases. Topics run one after the other, the cases of one
// at the same time.
type topic struct {
	name  string
	cases []testCase
}

// testCase is one promise.
type testCase struct {
	name       string
	run        func(*scene)
	rowLocks   bool // somebody must lock one row
	wholeLocks bool // somebody must lock everything
	bare       bool // without tables at its start
}

// Run runs the suite on env as subtests of t, and returns what came of each
// case. All have ended when Run returns, and the log has their [Table]. A fault
// in env itself ends t.
func Run(t *testing.T, env Env) Result {
	t.Helper()
	env.check(t)
	result := Result{Name: env.Name}
	for _, topic := range topics() {
		outcomes := make([]Outcome, len(topic.cases))
		t.Run(topic.name, func(t *testing.T) { topic.run(t, &env, outcomes) })
		result.Outcomes = append(result.Outcomes, conclude(outcomes)...)
	}
	t.Logf("\n%s", Table(result))
	return result
}

func topics() []topic {
	return []topic{
		{"schema", schemaCases},
		{"add", addCases},
		{"content", contentCases},
		{"claim", claimCases},
		{"order", orderCases},
		{"lease", leaseCases},
		{"record", recordCases},
		{"takeover", takeoverCases},
		{"wake", wakeCases},
		{"stuck", stuckCases},
		{"status", statusCases},
		{"list", listCases},
		{"rearm", rearmCases},
		{"prune", pruneCases},
		{"inbox", inboxCases},
		{"mark", markCases},
		{"setaside", asideCases},
		{"ends", endCases},
		{"foreign", foreignCases},
	}
}

// run runs the cases of a topic that are for this store. Those that run in
// parallel go on after it has returned, until the end of t.
func (tp *topic) run(t *testing.T, env *Env, outcomes []Outcome) {
	for i, c := range tp.cases {
		o := &outcomes[i]
		o.Topic, o.Case = tp.name, c.name
		if o.Why = c.whyNot(env); o.Why != "" {
			o.Status = NotForStore
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			o.test = t
			t.Parallel()
			c.run(newScene(t, env, c.bare))
		})
	}
}

// whyNot says why a case is not for this store; another one is in its place.
func (c *testCase) whyNot(env *Env) string {
	switch {
	case c.rowLocks && env.LocksWhole:
		return "a writer locks the whole database"
	case c.wholeLocks && !env.LocksWhole:
		return "a writer locks rows"
	}
	return ""
}
