package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// configurations are the rows of the table. One that did not run is shown too:
// what is missing there is not proven.
var configurations = []string{
	"membroker",
	"JetStream embedded", "JetStream external",
	"RabbitMQ 3.10 quorum", "RabbitMQ 3.10 classic",
	"RabbitMQ 4.3 quorum", "RabbitMQ 4.3 classic",
}

// table is what came of the suite on each configuration.
type table struct {
	mu      sync.Mutex
	results map[string]brokertest.Result
}

// results is the table of this run of the tests; TestMain prints it.
var results table

// conform runs the suite on a configuration and keeps the result.
func conform(t *testing.T, env brokertest.Env) {
	t.Helper()
	if !slices.Contains(configurations, env.Name) {
		t.Fatalf("the table has no row for %q", env.Name)
	}
	r := brokertest.Run(t, env)
	results.enter(r)
	found.Add(r)
}

func (tb *table) enter(r brokertest.Result) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.results == nil {
		tb.results = map[string]brokertest.Result{}
	}
	tb.results[r.Name] = r
}

// write writes the rows, then which cases failed, then why others were not
// run. A run without any configuration has no table.
func (tb *table) write(w io.Writer) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if len(tb.results) == 0 {
		return nil
	}
	text := &strings.Builder{}
	tb.rows(text)
	tb.failures(text)
	tb.reasons(text)
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

func (tb *table) rows(w io.Writer) {
	columns := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(columns, "conformance\tbroker\tpassed\tfailed\tnot for this broker")
	for _, name := range configurations {
		r, ran := tb.results[name]
		if !ran {
			fmt.Fprintf(columns, "%s\tdid not run\t-\t-\t-\n", name)
			continue
		}
		fmt.Fprintf(columns, "%s\t%s\t%d\t%d\t%d\n", name, r.Broker,
			r.Count(brokertest.Passed), r.Count(brokertest.Failed), r.Count(brokertest.NotForBroker))
	}
	columns.Flush() // to memory
}

func (tb *table) failures(w io.Writer) {
	for _, name := range configurations {
		for _, o := range tb.results[name].Outcomes {
			if o.Status == brokertest.Failed {
				fmt.Fprintf(w, "failed: %s: %s/%s\n", name, o.Topic, o.Case)
			}
		}
	}
}

// reasons says each reason once and for whom it holds.
func (tb *table) reasons(w io.Writer) {
	var order []string
	where := map[string][]string{}
	for _, name := range configurations {
		for _, o := range tb.results[name].Outcomes {
			if o.Status != brokertest.NotForBroker {
				continue
			}
			why := reason(o)
			if where[why] == nil {
				order = append(order, why)
			}
			if !slices.Contains(where[why], name) {
				where[why] = append(where[why], name)
			}
		}
	}
	for _, why := range order {
		fmt.Fprintf(w, "not for this broker: %s: %s\n", why, strings.Join(where[why], ", "))
	}
}

// reason is one for all cases that would prove a refusal of what the broker
// can do: others prove that it does it.
func reason(o brokertest.Outcome) string {
	if o.Cause == brokertest.Declared {
		return "the case proves that what is not declared is refused, and it is declared"
	}
	return o.Why
}
