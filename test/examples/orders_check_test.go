package examples

import (
	"fmt"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// wrongs are numbers that are 0.
var wrongs = map[string]string{
	"lost: orders without an invoice":          `SELECT count(*) FROM orders WHERE id NOT IN (SELECT order_id FROM invoices)`,
	"invoices without an order":                `SELECT count(*) FROM invoices WHERE order_id NOT IN (SELECT id FROM orders)`,
	"invoices of another amount":               `SELECT count(*) FROM orders o JOIN invoices i ON i.order_id = o.id WHERE i.cents <> o.cents`,
	"lost or doubled: customers' accounts":     accountsApart,
	"lost or doubled: payments on an invoice":  paymentsApart,
	"payments of an order that was not placed": `SELECT count(*) FROM payments WHERE order_id NOT IN (SELECT id FROM orders)`,
}

const (
	accountsApart = `SELECT count(*) FROM accounts a FULL JOIN
		(SELECT customer, count(*) AS n, sum(cents) AS cents FROM orders GROUP BY customer) o USING (customer)
		WHERE (a.invoices, a.cents) IS DISTINCT FROM (o.n, o.cents)`
	paymentsApart = `SELECT count(*) FROM invoices i LEFT JOIN
		(SELECT order_id, sum(cents) AS cents FROM payments GROUP BY order_id) p USING (order_id)
		WHERE i.paid <> coalesce(p.cents, 0)`
)

// What has not come yet, as numbers that fall to 0, and below it where effects
// are doubled.
const (
	unbooked = `SELECT (SELECT count(*) FROM orders) - (SELECT coalesce(sum(invoices), 0) FROM accounts)`
	unpaid   = `SELECT (SELECT coalesce(sum(cents), 0) FROM payments) - (SELECT coalesce(sum(paid), 0) FROM invoices)`
)

// settles waits until nothing is on its way, giving back what was set aside as
// often as there is something.
func (s *shop) settles(t *testing.T) {
	t.Helper()
	state := ""
	defer func() {
		if t.Failed() {
			t.Log(state)
		}
	}()
	testenv.Eventually(t, patience, "nothing is on its way", func() bool {
		coming := s.unpublished(t) + s.waiting(t) + max(0, s.number(t, unbooked))
		asides, unpaid := s.asides(t), max(0, s.number(t, unpaid))
		state = fmt.Sprintf("on their way %d, set aside %d, cents unpaid %d", coming, asides, unpaid)
		if coming == 0 && asides > 0 {
			s.redrive(t)
		}
		return coming+asides+unpaid == 0
	})
}

// sawDuplicates waits until the inbox has seen that many, or has let one
// through.
func (s *shop) sawDuplicates(t *testing.T, n int) {
	t.Helper()
	testenv.Eventually(t, patience, fmt.Sprintf("the inbox sees %d duplicates", n), func() bool {
		return s.duplicates(t) >= n || len(s.wrong(t)) > 0
	})
}

// wrong says what is wrong with the effects, and how often.
func (s *shop) wrong(t *testing.T) (found []string) {
	t.Helper()
	for what, query := range wrongs {
		if n := s.number(t, query); n != 0 {
			found = append(found, fmt.Sprintf("%s: %d", what, n))
		}
	}
	return found
}

func (s *shop) check(t *testing.T) {
	t.Helper()
	for _, what := range s.wrong(t) {
		t.Error(what)
	}
	for _, table := range []string{"orders", "invoices"} {
		if n := s.number(t, "SELECT count(*) FROM "+table); n != len(s.accepted) {
			t.Errorf("%s: %d, want %d", table, n, len(s.accepted))
		}
	}
	if got, want := fmt.Sprint(s.parked(t)), fmt.Sprintf("map[malformed:%d]", malformed); got != want {
		t.Errorf("parked are %s, want %s", got, want)
	}
	// What the stop has given back to the queues are second copies.
	if n := s.unpublished(t) + s.asides(t); n != 0 {
		t.Errorf("%d are still on their way", n)
	}
}
