package invoices_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/examples/unittest/invoices"
)

const (
	queue = "invoices"
	good  = `{"number":"A-1","cents":995}`
)

var (
	errDeadlock = errors.New("deadlock detected")
	policy      = holdfast.Policy{Ladder: []time.Duration{time.Second, time.Minute}, Hold: time.Hour, Laps: 2}
)

// ledger answers each call in turn; when its answers are spent, it books.
type ledger struct {
	answers []error
	booked  []string
}

func (l *ledger) Book(_ context.Context, i invoices.Invoice) error {
	if len(l.answers) > 0 {
		err := l.answers[0]
		l.answers = l.answers[1:]
		if err != nil {
			return err
		}
	}
	l.booked = append(l.booked, i.Number)
	return nil
}

// consume runs the handler on one message for a day, which passes at once:
// the clock of a synctest bubble goes on as soon as everybody waits. It
// returns the books, and what is parked.
func consume(t *testing.T, l *ledger, body string) (books holdfast.Books, parked []broker.Stored) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		defer b.Close()
		b.DeclareQueue(queue)
		if err := b.Publish(t.Context(), broker.Target{Queue: queue}, &broker.Message{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{Queue: queue, Handler: invoices.Handler(l), Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		if left := len(b.Messages(queue)); left != 0 {
			t.Errorf("%d messages are left in the queue", left)
		}
		books, parked = c.Books(), b.Messages(membroker.ParkedQueue(queue))
	})
	return books, parked
}

func TestHandler_books_an_invoice(t *testing.T) {
	var l ledger
	books, parked := consume(t, &l, good)
	if len(l.booked) != 1 || books.Done != 1 || len(parked) != 0 {
		t.Errorf("booked %v, %+v, parked %v", l.booked, books, parked)
	}
}

func TestHandler_retries_a_deadlock(t *testing.T) {
	l := ledger{answers: []error{errDeadlock, errDeadlock}}
	books, parked := consume(t, &l, good)
	if len(l.booked) != 1 || books.Delayed != 2 || books.Done != 1 || len(parked) != 0 {
		t.Errorf("booked %v, %+v, parked %v", l.booked, books, parked)
	}
}

func TestHandler_waits_while_the_ledger_is_closed(t *testing.T) {
	l := ledger{answers: []error{invoices.ErrBooksClosed, invoices.ErrBooksClosed}}
	books, parked := consume(t, &l, good)
	if len(l.booked) != 1 || books.Held != 2 || books.Delayed != 0 || books.Done != 1 || len(parked) != 0 {
		t.Errorf("booked %v, %+v, parked %v", l.booked, books, parked)
	}
}

func TestHandler_parks_what_it_cannot_book(t *testing.T) {
	for name, tc := range map[string]struct {
		body    string
		answers []error
		reason  holdfast.Reason
		attempt int
		err     string
	}{
		"an_impossible_amount":       {`{"number":"A-2","cents":-5}`, nil, holdfast.ReasonVerdict, 1, "invoice A-2 is about -5 cents"},
		"no_invoice":                 {`{"number":`, nil, holdfast.ReasonMalformed, 1, "malformed body: unexpected end of JSON input"},
		"a_deadlock_on_each_attempt": {good, []error{errDeadlock, errDeadlock, errDeadlock}, holdfast.ReasonExhausted, 3, "deadlock detected"},
		"a_ledger_that_stays_closed": {
			good,
			[]error{invoices.ErrBooksClosed, invoices.ErrBooksClosed, invoices.ErrBooksClosed},
			holdfast.ReasonLapsExhausted, 1, "the ledger is closed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger{answers: tc.answers}
			_, parked := consume(t, &l, tc.body)
			if len(parked) != 1 || len(l.booked) != 0 {
				t.Fatalf("parked %d, booked %v", len(parked), l.booked)
			}
			c := parked[0].Capture
			if c.Reason != tc.reason || c.Attempt != tc.attempt || c.Error != tc.err {
				t.Errorf("parked as %s on attempt %d: %s", c.Reason, c.Attempt, c.Error)
			}
			if string(parked[0].Message.Body) != tc.body {
				t.Errorf("the body became %q", parked[0].Message.Body)
			}
		})
	}
}
