// Package invoices is a service's own package, with a handler to be tested:
// nothing in it knows of a broker. Its test is what this example shows.
package invoices

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast"
)

// Invoice is what the messages carry.
type Invoice struct {
	Number string `json:"number"`
	Cents  int64  `json:"cents"`
}

// ErrBooksClosed is what a Ledger returns while nothing can be booked.
var ErrBooksClosed = errors.New("the ledger is closed")

// Ledger is where invoices are booked. Book must be idempotent: a message may
// be delivered more than once.
type Ledger interface {
	Book(ctx context.Context, i Invoice) error
}

// Handler books each invoice: an amount that cannot be is parked, and while
// the ledger is closed the invoice is held. Whatever else the ledger says goes
// down the ladder.
func Handler(ledger Ledger) holdfast.Handler {
	return holdfast.JSON(func(ctx context.Context, i Invoice, _ *holdfast.Message) error {
		if i.Cents <= 0 {
			return holdfast.Park(fmt.Errorf("invoice %s is about %d cents", i.Number, i.Cents))
		}
		err := ledger.Book(ctx, i)
		if errors.Is(err, ErrBooksClosed) {
			return holdfast.Hold(err)
		}
		return err
	})
}
