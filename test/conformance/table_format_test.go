package conformance

import (
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// TestTable shows a table of three configurations; the others did not run.
func TestTable(t *testing.T) {
	t.Parallel()
	var tb table
	undeclared := brokertest.Outcome{
		Topic: "responder", Case: "no_reply", Status: brokertest.NotForBroker,
		Cause: brokertest.Undeclared, Why: "Replies is not declared",
	}
	declared := brokertest.Outcome{
		Topic: "capabilities", Case: "an_undeclared_delay_is_refused", Status: brokertest.NotForBroker,
		Cause: brokertest.Declared, Why: "Delay is declared",
	}
	passed := brokertest.Outcome{Topic: "park", Case: "parks_at_once", Status: brokertest.Passed}
	failed := brokertest.Outcome{Topic: "park", Case: "parks_at_once", Status: brokertest.Failed}
	for name, outcomes := range map[string][]brokertest.Outcome{
		"membroker":          {passed, declared},
		"JetStream embedded": {passed, undeclared},
		"JetStream external": {failed, undeclared},
	} {
		tb.enter(brokertest.Result{Name: name, Broker: "product 1.2", Outcomes: outcomes})
	}
	want := `
conformance             broker        passed   failed   not for this broker
membroker               product 1.2   1        0        1
JetStream embedded      product 1.2   1        0        1
JetStream external      product 1.2   0        1        1
RabbitMQ 3.10 quorum    did not run   -        -        -
RabbitMQ 3.10 classic   did not run   -        -        -
RabbitMQ 4.3 quorum     did not run   -        -        -
RabbitMQ 4.3 classic    did not run   -        -        -
failed: JetStream external: park/parks_at_once
not for this broker: the case proves that what is not declared is refused, and it is declared: membroker
not for this broker: Replies is not declared: JetStream embedded, JetStream external

`
	var got strings.Builder
	if err := tb.write(&got); err != nil || got.String() != want {
		t.Errorf("error %v, and the table is\n%q, not\n%q", err, got.String(), want)
	}
	var empty strings.Builder
	if err := new(table).write(&empty); err != nil || empty.String() != "" {
		t.Errorf("error %v, and a run without configurations prints %q", err, empty.String())
	}
}
