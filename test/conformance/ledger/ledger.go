package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// page is what the file says.
type page struct {
	behaviours []string // the columns: the cases of the contract, in order
	rows       map[string]row
}

// row is what one configuration was found to do.
type row struct {
	product string // and version family; empty when nobody ran it
	passed  int    // of the whole suite
	not     int    // not for this broker
	cells   map[string]cell
}

// cell says what came of one case: pass, unsupported (why) or deferred (why).
type cell string

const (
	pass    cell = "pass"
	missing cell = "deferred (not run yet)"
)

// at is the cell of a behaviour. What was never found out is no pass.
func (r row) at(behaviour string) cell { return cmp.Or(r.cells[behaviour], missing) }

// rowOf is the row that a whole run of the suite gives; it has no failures.
func rowOf(r brokertest.Result) row {
	found := row{
		product: family(r.Broker), passed: r.Count(brokertest.Passed), not: r.Count(brokertest.NotForBroker),
		cells: map[string]cell{},
	}
	for _, o := range r.Outcomes {
		if o.Topic == brokertest.Contract {
			found.cells[o.Case] = cellOf(o)
		}
	}
	return found
}

func cellOf(o brokertest.Outcome) cell {
	switch {
	case o.Status == brokertest.Passed:
		return pass
	case o.Cause == brokertest.Undeclared || o.Cause == brokertest.Declared:
		return cell("unsupported (" + plain(o.Why) + ")")
	default:
		return cell("deferred (" + plain(o.Why) + ")")
	}
}

// plain keeps a reason inside of its cell.
func plain(why string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(why, "|", "/")), " ")
}

var patch = regexp.MustCompile(`(\d+\.\d+)\.\d+\S*`)

// family leaves out what changes from machine to machine: "RabbitMQ 4.3.6" is
// "RabbitMQ 4.3".
func family(product string) string { return plain(patch.ReplaceAllString(product, "$1")) }

// behaviours are the cases of the contract, of which every whole result has all.
func behaviours(results []brokertest.Result) (list []string) {
	for _, o := range results[0].Outcomes {
		if o.Topic == brokertest.Contract {
			list = append(list, o.Case)
		}
	}
	return list
}

// usable parts the results that the ledger can take from what keeps others out.
func usable(results []brokertest.Result) (good []brokertest.Result, err error) {
	var errs []error
	for _, r := range results {
		if err := fault(r); err != nil {
			errs = append(errs, err)
			continue
		}
		good = append(good, r)
	}
	return good, errors.Join(errs...)
}

func fault(r brokertest.Result) error {
	var errs []error
	switch {
	case !slices.Contains(configurations, r.Name):
		errs = append(errs, fmt.Errorf("ledger: there is no row for %q; the rows are in configurations.go", r.Name))
	case !r.Whole:
		errs = append(errs, fmt.Errorf("ledger: %s: flags left cases out", r.Name))
	case r.Broker == "":
		errs = append(errs, fmt.Errorf("ledger: %s: no session named its broker", r.Name))
	}
	for _, o := range r.Outcomes {
		if o.Status == brokertest.Failed {
			errs = append(errs, fmt.Errorf("ledger: %s: %s/%s failed", r.Name, o.Topic, o.Case))
		}
	}
	return errors.Join(errs...)
}
