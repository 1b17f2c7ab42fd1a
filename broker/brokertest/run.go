package brokertest

import (
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/bounds"
)

// Contract is the topic whose cases are the columns of docs/conformance.md.
const Contract = "contract"

// topic is a group of cases. Topics run one after the other, the cases of one
// at the same time.
type topic struct {
	name  string
	cases []testCase
}

// testCase is one promise.
type testCase struct {
	name  string
	run   func(*scene)
	needs []capability // all of them
	lacks []capability // none of them
	hook  hook
	alone bool // disturbs others, so it runs by itself
}

// Run runs the suite on env as subtests of t, and returns what came of each
// case. The cases of a topic run in parallel with each other, and all have
// ended when Run returns. A fault in env itself ends t.
func Run(t *testing.T, env Env) Result {
	t.Helper()
	env.check(t)
	bounds.AllowShortHolds()
	s := &suite{env: &env, eye: (&scene{T: t, env: &env}).open()}
	_, env.outlets = s.eye.(broker.Outlets)
	result := Result{Name: env.Name, Whole: true}
	for _, topic := range topics() {
		outcomes := make([]Outcome, len(topic.cases))
		t.Run(topic.name, func(t *testing.T) { s.run(t, topic, outcomes) })
		concluded := conclude(outcomes)
		result.Outcomes = append(result.Outcomes, concluded...)
		result.Whole = result.Whole && len(concluded) == len(topic.cases)
	}
	result.Broker = s.product
	report(t, &env, &result)
	return result
}

// suite is what the cases of one Run have in common.
type suite struct {
	env     *Env
	eye     broker.Broker // looks on; nobody cuts it
	product string        // as a session declares it; written by one case
}

func topics() []topic {
	return []topic{
		{"capabilities", capabilityCases},
		{"settle", settleCases},
		{"retry", retryCases},
		{"hold", holdCases},
		{"park", parkCases},
		{"failures", failureCases},
		{"content", contentCases},
		{"origin", originCases},
		{"capture", captureCases()},
		{"crash", crashCases},
		{"sessions", sessionCases},
		{"consumer", consumerCases},
		{"outage", outageCases},
		{"responder", responderCases},
		{"sift", siftCases},
		{"books", bookCases},
		{"outlet", outletCases},
		{Contract, contractCases},
	}
}

// run runs the cases of a topic that are for this broker. Those that run in
// parallel go on after it has returned, until the end of t.
func (s *suite) run(t *testing.T, tp topic, outcomes []Outcome) {
	for i, c := range tp.cases {
		o := &outcomes[i]
		o.Topic, o.Case = tp.name, c.name
		if o.Cause, o.Why = c.whyNot(s.env); o.Cause != "" {
			o.Status = NotForBroker
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			o.test = t
			if !c.alone {
				t.Parallel()
			}
			c.run(newScene(t, s))
		})
	}
}

// report logs what a green run does not prove.
func report(t *testing.T, env *Env, r *Result) {
	t.Helper()
	for _, c := range []capability{delays, holds, replies, stamps, freeRelease, counts, headerLimit} {
		if !c.of(env.Capabilities) {
			t.Logf("%s: tested in the negative direction: %s", env.Name, c.name)
		}
	}
	for _, o := range r.Outcomes {
		if o.Status == NotForBroker {
			t.Logf("%s: not for this broker: %s/%s: %s", env.Name, o.Topic, o.Case, o.Why)
		}
	}
}
