package membroker_test

import (
	"context"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

func openOutlet(t *testing.T, b *membroker.Broker, exchange string) broker.Outlet {
	t.Helper()
	o, err := b.OpenOutlet(t.Context(), exchange, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// hand publishes one message and returns where its outcome will come.
func hand(o broker.Outlet, key string) <-chan error {
	outcome := make(chan error, 2)
	o.Publish(key, &broker.Message{Body: []byte("a")}, func(err error) { outcome <- err })
	return outcome
}

func newExchange(t *testing.T) *membroker.Broker {
	t.Helper()
	b := newQueue(t)
	b.Bind("orders", "placed", "q")
	return b
}

func TestOutletThatIsRefusedGoesOn(t *testing.T) {
	b := newExchange(t)
	o := openOutlet(t, b, "orders")
	b.RefuseCopies(1)
	wantErr(t, <-hand(o, "placed"), broker.ErrRefused)
	wantErr(t, <-hand(o, "lost"), broker.ErrUnrouted)
	wantErr(t, <-hand(o, "placed"), nil)
	wantErr(t, o.Err(), nil)
}

func TestOutletWithALostConfirm(t *testing.T) {
	b := newExchange(t)
	o := openOutlet(t, b, "orders")
	b.LoseConfirms(1)
	wantErr(t, <-hand(o, "placed"), broker.ErrUnknown)
	<-o.Done()
	wantErr(t, <-hand(o, "placed"), broker.ErrClosed)
	if n := len(b.Messages("q")); n != 1 {
		t.Errorf("%d messages are stored, not the one that is unknown", n)
	}
}

func TestOutletWhoseDestinationGoesWrong(t *testing.T) {
	for class, fault := range map[error]func(*membroker.Broker){
		broker.ErrMissing:    func(b *membroker.Broker) { b.DeleteExchange("orders") },
		broker.ErrPermission: func(b *membroker.Broker) { b.Forbid("orders", true) },
	} {
		b := newExchange(t)
		b.Bind("other", "placed", "q")
		o, other := openOutlet(t, b, "orders"), openOutlet(t, b, "other")
		fault(b)
		wantErr(t, <-hand(o, "placed"), class)
		<-o.Done()
		wantErr(t, o.Err(), class)
		_, err := b.OpenOutlet(t.Context(), "orders", nil)
		wantErr(t, err, class)
		wantErr(t, <-hand(other, "placed"), nil)
		b.Bind("orders", "placed", "q")
		b.Forbid("orders", false)
		wantErr(t, <-hand(openOutlet(t, b, "orders"), "placed"), nil)
	}
}

func TestOutletOfABlockedBroker(t *testing.T) {
	b := newExchange(t)
	b.Block("low on memory")
	notices := make(chan broker.Notice, 4)
	o, err := b.OpenOutlet(t.Context(), "orders", func(n broker.Notice) { notices <- n })
	if err != nil {
		t.Fatal(err)
	}
	if n := <-notices; n.Kind != broker.NoticeBlocked || n.Text != "low on memory" {
		t.Errorf("notice %+v", n)
	}
	first, second := hand(o, "placed"), hand(o, "lost")
	b.Unblock()
	wantErr(t, <-first, nil)
	wantErr(t, <-second, broker.ErrUnrouted)
	if n := <-notices; n.Kind != broker.NoticeUnblocked {
		t.Errorf("notice %+v", n)
	}
}

func TestOutletThatIsCutOff(t *testing.T) {
	for want, cut := range map[error]func(*membroker.Broker){
		broker.ErrUnreachable: (*membroker.Broker).Cut,
		broker.ErrClosed:      func(b *membroker.Broker) { b.Close() },
	} {
		b := newExchange(t)
		o := openOutlet(t, b, "orders")
		b.Block("low on memory")
		waiting := hand(o, "placed")
		cut(b)
		wantErr(t, <-waiting, broker.ErrClosed)
		<-o.Done()
		wantErr(t, o.Err(), want)
	}
	b := newExchange(t)
	o := openOutlet(t, b, "orders")
	b.Stop()
	<-o.Done()
	wantErr(t, o.Err(), broker.ErrUnreachable)
	_, err := b.OpenOutlet(t.Context(), "orders", nil)
	wantErr(t, err, broker.ErrUnreachable)
}

// TestOutletDoneMayCallBack: who is told an outcome may publish and close.
func TestOutletDoneMayCallBack(t *testing.T) {
	b := newExchange(t)
	o := openOutlet(t, b, "orders")
	second := make(chan error, 1)
	o.Publish("placed", &broker.Message{}, func(error) {
		o.Publish("placed", &broker.Message{}, func(err error) { second <- err })
	})
	wantErr(t, <-second, nil)
	if err := o.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
