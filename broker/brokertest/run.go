package brokertest

import (
	"fmt"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/bounds"
)

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

// capability is something that a broker declares.
type capability struct {
	name string
	of   func(broker.Capabilities) bool
}

var (
	delays      = capability{"Delay", func(c broker.Capabilities) bool { return c.Delay }}
	holds       = capability{"Hold", func(c broker.Capabilities) bool { return c.Hold }}
	replies     = capability{"Replies", func(c broker.Capabilities) bool { return c.Replies }}
	stamps      = capability{"Stamp", func(c broker.Capabilities) bool { return c.Stamp }}
	freeRelease = capability{"FreeRelease", func(c broker.Capabilities) bool { return c.FreeRelease }}
	counts      = capability{"Counts", func(c broker.Capabilities) bool { return c.Counts }}
	headerLimit = capability{"MaxHeaders", func(c broker.Capabilities) bool { return c.MaxHeaders > 0 }}
)

func all(c ...capability) []capability { return c }

// hook is an optional function of Env.
type hook struct {
	name  string
	given func(*Env) bool
}

var (
	canRestart    = hook{"Restart", func(e *Env) bool { return e.Restart != nil }}
	canBlock      = hook{"Block", func(e *Env) bool { return e.Block != nil }}
	canPublishVia = hook{"PublishVia", func(e *Env) bool { return e.PublishVia != nil }}
	hasTransient  = hook{"NewTransientQueue", func(e *Env) bool { return e.NewTransientQueue != nil }}
	siftsItself   = hook{"Sifter (Open's own is used)", func(e *Env) bool { return e.Sifter == nil }}
)

// whyNot says why a case is not for this broker, or "" when it is.
func (c *testCase) whyNot(e *Env) string {
	for _, need := range c.needs {
		if !need.of(e.Capabilities) {
			return need.name + " is not declared"
		}
	}
	for _, lack := range c.lacks {
		if lack.of(e.Capabilities) {
			return lack.name + " is declared"
		}
	}
	if c.hook.given != nil && !c.hook.given(e) {
		return "Env." + c.hook.name + " is not given"
	}
	return ""
}

// Run runs the suite on env as subtests of t.
func Run(t *testing.T, env Env) {
	t.Helper()
	env.check(t)
	bounds.AllowShortHolds()
	eye := (&scene{T: t, env: &env}).open()
	var notRun []string
	for _, topic := range topics() {
		t.Run(topic.name, func(t *testing.T) {
			notRun = append(notRun, topic.run(t, &env, eye)...)
		})
	}
	report(t, &env, notRun)
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
	}
}

func (tp topic) run(t *testing.T, env *Env, eye broker.Broker) (notRun []string) {
	for _, c := range tp.cases {
		if why := c.whyNot(env); why != "" {
			notRun = append(notRun, fmt.Sprintf("%s/%s: %s", tp.name, c.name, why))
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if !c.alone {
				t.Parallel()
			}
			c.run(newScene(t, env, eye))
		})
	}
	return notRun
}

// report logs what a green run does not prove.
func report(t *testing.T, env *Env, notRun []string) {
	t.Helper()
	for _, c := range []capability{delays, holds, replies, stamps, freeRelease, counts, headerLimit} {
		if !c.of(env.Capabilities) {
			t.Logf("%s: tested in the negative direction: %s", env.Name, c.name)
		}
	}
	for _, line := range notRun {
		t.Logf("%s: not for this broker: %s", env.Name, line)
	}
}
