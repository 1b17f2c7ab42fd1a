package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-mq/holdfast"
)

// Order is what the messages carry.
type Order struct {
	ID     int
	Amount float64
}

// charge is the handler: it returns an error, and the rest is not its
// business. holdfast.JSON decodes the order, and parks what is none.
func charge(_ context.Context, o Order, m *holdfast.Message) error {
	if o.Amount < 0 {
		return errors.New("the card was declined") // down the ladder
	}
	fmt.Printf("order %d charged on attempt %d\n", o.ID, m.Attempt)
	return nil
}

// whenSettled calls done once each of the messages met its fate. A service
// runs on; an example ends.
func whenSettled(messages map[string]string, done func()) holdfast.Observer {
	var mu sync.Mutex
	settled := map[string]bool{}
	return holdfast.ObserverFunc(func(e holdfast.Event) {
		switch e.Kind {
		case holdfast.EventDone, holdfast.EventParked, holdfast.EventDiscarded:
			mu.Lock()
			defer mu.Unlock()
			if settled[e.MessageID] = true; len(settled) == len(messages) {
				done()
			}
		}
	})
}
