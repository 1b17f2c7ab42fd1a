package membroker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

// TestFakeTime shows the default policy, ladder and all, in fake time.
func TestFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		defer b.Close()
		b.DeclareQueue("q")
		publish(t, b, "q", "a")
		began := time.Now()
		parkedAt := make(chan time.Duration, 1)
		stop := run(t, b, holdfast.ConsumerConfig{
			Queue:   "q",
			Handler: func(context.Context, *holdfast.Message) error { return errors.New("always") },
			Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
				if e.Kind == holdfast.EventParked {
					parkedAt <- time.Since(began)
				}
			}),
		})
		if d := <-parkedAt; d < 131*time.Second || d > 132*time.Second {
			t.Errorf("parked after %v", d)
		}
		stop()
		if m := b.Messages(membroker.ParkedQueue("q")); len(m) != 1 || m[0].Capture.Attempt != 5 {
			t.Errorf("parked %+v", m)
		}
	})
}

// TestDroppedConsumer shows that a consumer finds out by itself that it is
// connected and consumes nothing.
func TestDroppedConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		defer b.Close()
		b.DeclareQueue("q")
		done := make(chan struct{})
		stop := run(t, b, holdfast.ConsumerConfig{
			Queue: "q",
			Handler: func(context.Context, *holdfast.Message) error {
				close(done)
				return nil
			},
		})
		synctest.Wait()
		b.DropConsumers("q")
		publish(t, b, "q", "a")
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("the consumer did not come back")
		}
		stop()
	})
}

// TestHeldReturnsWithoutConsumer: a hold is a timer, and needs nobody.
func TestHeldReturnsWithoutConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		defer b.Close()
		b.DeclareQueue("q")
		publish(t, b, "q", "a")
		d, session := take(t, b, "q")
		settle(t, d, broker.Settlement{Fate: broker.FateHold, Capture: capture("q")})
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Messages(membroker.HoldQueue("q"))); n != 1 {
			t.Fatalf("%d are held", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(b.Messages("q")); n != 1 {
			t.Errorf("%d are back", n)
		}
	})
}

// TestStray: the source is gone when the wait ends.
func TestStray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		defer b.Close()
		b.DeclareQueue("q")
		publish(t, b, "q", "a")
		d, _ := take(t, b, "q")
		settle(t, d, broker.Settlement{Fate: broker.FateDelay, Delay: time.Minute, Capture: capture("q")})
		b.DeleteQueue("q")
		stray, _ := take(t, b, membroker.Unrouted)
		if string(stray.Message().Body) != "a" {
			t.Errorf("a stray %q", stray.Message().Body)
		}
	})
}
