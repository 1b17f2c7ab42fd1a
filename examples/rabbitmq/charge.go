package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast"
)

// Order is what the messages carry.
type Order struct {
	ID     int
	Amount float64
}

var errBankDown = errors.New("the bank does not answer")

// charge is the handler: it returns an error, and the rest is not its
// business. holdfast.JSON decodes the order, and parks what is none.
func charge(_ context.Context, o Order, m *holdfast.Message) error {
	err := bill(o, m.Lap)
	switch {
	case errors.Is(err, errBankDown):
		return holdfast.Hold(err) // nothing is wrong with the order
	case err != nil:
		return fmt.Errorf("order %d: %w", o.ID, err) // down the ladder
	}
	fmt.Printf("order %d charged on attempt %d\n", o.ID, m.Attempt)
	return nil
}

// bill stands for the bank: it declines what is below zero, and is down when
// it is first asked for a large amount.
func bill(o Order, lap int) error {
	switch {
	case o.Amount < 0:
		return errors.New("the card was declined")
	case o.Amount > 1000 && lap == 0:
		return errBankDown
	default:
		return nil
	}
}
