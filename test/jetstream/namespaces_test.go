package jetstream_test

import (
	"slices"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

func inNamespace(ns string) func(*jetstream.Config) {
	return func(c *jetstream.Config) { c.Namespace = ns }
}

// TestNamespaces: two of them on one queue know nothing of each other; one
// with dots has a name of its own for streams, and its subjects keep the dots.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open(inNamespace("team.billing-v2"))
	s := p.consuming(b, queue, 2)
	p.publish("delayed", "parked")
	list := p.receives(s, "delayed", "parked")
	p.mustSettle(list[0], delayed(list[0], rungs[0]))
	p.mustSettle(list[1], parked(list[1]))
	p.mustSettle(p.receives(s, "delayed")[0], done)
	for stream, want := range map[string][]string{
		"team_billing-v2-work":   {"team.billing-v2.wait.>", "team.billing-v2.back.>"},
		"team_billing-v2-parked": {"team.billing-v2.parked.>"},
	} {
		if got := p.streamInfo(stream).Config.Subjects; !slices.Equal(got, want) {
			t.Errorf("%s has the subjects %q", stream, got)
		}
	}
	if m := p.streamInfo("team_billing-v2-parked").State.Subjects; m["team.billing-v2.parked.ORDERS.billing"] != 1 {
		t.Errorf("it is parked under %v", m)
	}
	other := p.open(inNamespace("other"))
	if d, err := other.Depth(p.ctx(), queue+".parked"); err != nil || d.Messages != 0 {
		t.Errorf("the other namespace has %+v, %v", d, err)
	}
	// Both would be streams of one name.
	p.refusedAtStart(p.open(inNamespace("team_billing-v2")), queue, broker.ErrMismatch, "has the subjects")
}
