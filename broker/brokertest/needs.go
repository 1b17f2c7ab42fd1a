package brokertest

import (
	"cmp"

	"github.com/holdfast-mq/holdfast/broker"
)

// This file is what a case may need, and why it is not run without.

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
	attempts    = capability{"Attempts", func(c broker.Capabilities) bool { return c.Attempts }}
	uncounted   = capability{"Unenforceable", func(c broker.Capabilities) bool { return c.Unenforceable != "" }}
	headerLimit = capability{"MaxHeaders", func(c broker.Capabilities) bool { return c.MaxHeaders > 0 }}
)

func all(c ...capability) []capability { return c }

// hook is what a case needs of Env and not of the broker's capabilities.
type hook struct {
	name  string // of the field of Env
	given func(*Env) bool
	cause Cause  // when it is not given
	why   string // unless Env.Without knows better
}

func optional(name string, given func(*Env) bool) hook {
	return hook{name: name, given: given, cause: NotGiven, why: "Env." + name + " is not given"}
}

var (
	canRestart    = optional("Restart", func(e *Env) bool { return e.Restart != nil })
	canBlock      = optional("Block", func(e *Env) bool { return e.Block != nil })
	canPublishVia = optional("PublishVia", func(e *Env) bool { return e.PublishVia != nil })
	hasTransient  = optional("NewTransientQueue", func(e *Env) bool { return e.NewTransientQueue != nil })
	hasLimited    = optional("NewLimitedQueue", func(e *Env) bool { return e.NewLimitedQueue != nil })
	seesHolds     = hook{"BlindHold", func(e *Env) bool { return !e.BlindHold }, Undeclared, "what is held cannot be looked at"}
	emptyBodies   = hook{"NoEmptyBody", func(e *Env) bool { return !e.NoEmptyBody }, Undeclared, "a message has a body"}
	siftsItself   = hook{"Sifter", func(e *Env) bool { return e.Sifter == nil }, NotGiven, "Env.Sifter stands in for the driver's own"}
	hasOutlets    = hook{"PublishVia", (*Env).hasOutlets, Undeclared, "the broker opens no outlets"}
	canBlockThem  = hook{"Block", func(e *Env) bool { return e.hasOutlets() && canBlock.given(e) }, NotGiven, "Env.Block is not given, or the broker opens no outlets"}
	typedHeaders  = hook{"Headers", (*Env).hasTypedHeaders, Undeclared, "headers carry text only"}
)

// whyNot says why a case is not for this broker; an empty cause says that it
// is.
func (c *testCase) whyNot(e *Env) (cause Cause, why string) {
	for _, need := range c.needs {
		if !need.of(e.Capabilities) {
			return Undeclared, need.name + " is not declared"
		}
	}
	for _, lack := range c.lacks {
		if lack.of(e.Capabilities) {
			return Declared, lack.name + " is declared"
		}
	}
	if c.hook.given != nil && !c.hook.given(e) {
		return c.hook.cause, cmp.Or(e.Without[c.hook.name], c.hook.why)
	}
	return "", ""
}
