package membroker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

func newQueue(t *testing.T) *membroker.Broker {
	t.Helper()
	b := membroker.New()
	t.Cleanup(func() { b.Close() })
	b.DeclareQueue("q")
	return b
}

func wantErr(t *testing.T, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("the error is %v, not %v", err, class)
	}
}

func park() broker.Settlement {
	c := capture("q")
	c.Reason = broker.ReasonVerdict
	return broker.Settlement{Fate: broker.FatePark, Capture: c}
}

func TestRefusedCopyLeavesTheDeliveryOpen(t *testing.T) {
	b := newQueue(t)
	publish(t, b, "q", "a")
	d, _ := take(t, b, "q")
	b.RefuseCopies(2)
	wantErr(t, outcome(d, park()), broker.ErrRefused)
	wantErr(t, outcome(d, park()), broker.ErrRefused)
	settle(t, d, park())
	if n := len(b.Messages(membroker.ParkedQueue("q"))); n != 1 {
		t.Errorf("%d are parked", n)
	}
}

func TestLostConfirmIsADuplicateAndNoLoss(t *testing.T) {
	b := newQueue(t)
	publish(t, b, "q", "a")
	d, s := take(t, b, "q")
	b.LoseConfirms(1)
	wantErr(t, outcome(d, park()), broker.ErrUnknown)
	<-s.Done()
	if len(b.Messages("q")) != 1 || len(b.Messages(membroker.ParkedQueue("q"))) != 1 {
		t.Errorf("%d in the queue, %d parked", len(b.Messages("q")), len(b.Messages(membroker.ParkedQueue("q"))))
	}
}

// TestLostConfirmThroughTheCore: the duplicate carries the same capture id.
func TestLostConfirmThroughTheCore(t *testing.T) {
	b := newQueue(t)
	err := b.Publish(t.Context(), broker.Target{Queue: "q"}, &broker.Message{Body: []byte("a"), ID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	b.LoseConfirms(1)
	parked := make(chan struct{})
	stop := run(t, b, holdfast.ConsumerConfig{
		Queue:   "q",
		Handler: func(context.Context, *holdfast.Message) error { return holdfast.Park(errors.New("no")) },
		Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
			if e.Kind == holdfast.EventParked {
				close(parked)
			}
		}),
	})
	<-parked
	stop()
	m := b.Messages(membroker.ParkedQueue("q"))
	if len(m) != 2 || m[0].Capture.ID != m[1].Capture.ID {
		t.Errorf("parked: %+v", m)
	}
}

func TestRefusedClients(t *testing.T) {
	b := newQueue(t)
	for _, class := range []error{broker.ErrCredentials, broker.ErrPermission} {
		b.RefuseClients(class)
		_, err := b.Open(t.Context(), broker.Subscription{Queue: "q"})
		wantErr(t, err, class)
		_, err = b.Depth(t.Context(), "q")
		wantErr(t, err, class)
	}
	b.RefuseClients(nil)
	open(t, b, "q", nil)
}

func TestStoppedBrokerKeepsItsMessages(t *testing.T) {
	b := newQueue(t)
	publish(t, b, "q", "a")
	_, s := take(t, b, "q")
	b.Stop()
	<-s.Done()
	wantErr(t, s.Err(), broker.ErrUnreachable)
	_, err := b.Open(t.Context(), broker.Subscription{Queue: "q"})
	wantErr(t, err, broker.ErrUnreachable)
	wantErr(t, b.Publish(t.Context(), broker.Target{Queue: "q"}, &broker.Message{}), broker.ErrUnreachable)
	b.Start()
	d, _ := take(t, b, "q")
	if !d.Facts().Redelivered || d.Facts().Crashes != 1 {
		t.Errorf("facts %+v", d.Facts())
	}
}

func TestCutLeavesPeersAlone(t *testing.T) {
	b := newQueue(t)
	peer := b.Peer()
	cut, stays := open(t, b, "q", nil), open(t, peer, "q", nil)
	b.Cut()
	<-cut.Done()
	if stays.Err() != nil {
		t.Errorf("the peer's session ended: %v", stays.Err())
	}
}

func TestBlockIsToldAndEnds(t *testing.T) {
	b := newQueue(t)
	notices := make(chan broker.Notice, 4)
	open(t, b, "q", func(n broker.Notice) { notices <- n })
	b.Block("low on memory")
	if n := <-notices; n.Kind != broker.NoticeBlocked || n.Text != "low on memory" {
		t.Errorf("notice %+v", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	wantErr(t, b.Publish(ctx, broker.Target{Queue: "q"}, &broker.Message{}), context.DeadlineExceeded)
	b.Unblock()
	if n := <-notices; n.Kind != broker.NoticeUnblocked {
		t.Errorf("notice %+v", n)
	}
	publish(t, b, "q", "a")
	if n := len(b.Messages("q")); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestExchangeReachesEveryBoundQueue(t *testing.T) {
	b := newQueue(t)
	b.DeclareQueue("other")
	b.Bind("orders", "placed", "q")
	b.Bind("orders", "placed", "other")
	if err := b.Publish(t.Context(), broker.Target{Exchange: "orders", Key: "placed"}, &broker.Message{}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, b.Publish(t.Context(), broker.Target{Exchange: "orders", Key: "lost"}, &broker.Message{}), broker.ErrUnrouted)
	for _, queue := range []string{"q", "other"} {
		m := b.Messages(queue)
		if want := (broker.Origin{Exchange: "orders", Key: "placed", Queue: queue}); len(m) != 1 || m[0].Message.Origin != want {
			t.Errorf("%s holds %+v", queue, m)
		}
	}
}

// TestMessagesAreTheReadersOwn: neither a publisher nor a handler reaches what
// is stored through what it still holds.
func TestMessagesAreTheReadersOwn(t *testing.T) {
	b := newQueue(t)
	m := &broker.Message{Body: []byte("a"), Headers: map[string]any{"k": "v"}}
	if err := b.Publish(t.Context(), broker.Target{Queue: "q"}, m); err != nil {
		t.Fatal(err)
	}
	m.Body[0], m.Headers["k"] = 'x', "x"
	stored := b.Messages("q")[0].Message
	stored.Body[0], stored.Headers["k"] = 'y', "y"
	if again := b.Messages("q")[0].Message; string(again.Body) != "a" || again.Headers["k"] != "v" {
		t.Errorf("stored %q %v", again.Body, again.Headers)
	}
}
