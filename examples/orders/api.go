package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
)

// takeOrders serves HTTP. It needs the database and not the broker: orders are
// taken while that is down, too.
func (s *service) takeOrders(ctx context.Context, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.postOrder)
	mux.HandleFunc("POST /payments", s.postPayment)
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Printf("orders are taken at http://%s/orders\n", listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(ctx) // waits for what is being answered
}

func (s *service) postOrder(w http.ResponseWriter, r *http.Request) {
	var o Order
	if !read(w, r, &o) {
		return
	}
	o.ID = r.Header.Get(idempotencyKey)
	s.accept(w, r, acceptance{
		valid:  isName(o.ID, o.Customer) && o.Cents > 0,
		insert: "INSERT INTO orders (id, customer, cents) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		same:   "SELECT customer = $2 AND cents = $3 FROM orders WHERE id = $1",
		values: []any{o.ID, o.Customer, o.Cents},
		tell: func(ctx context.Context, tx store.OutboxTx) error {
			return placed.Add(ctx, tx, o, outbox.InOrderOf(o.Customer))
		},
	})
}

// postPayment is what the bank calls. It may be quicker than the order.
func (s *service) postPayment(w http.ResponseWriter, r *http.Request) {
	var p Payment
	if !read(w, r, &p) {
		return
	}
	p.ID = r.Header.Get(idempotencyKey)
	s.accept(w, r, acceptance{
		valid:  isName(p.ID, p.Order) && p.Cents > 0,
		insert: "INSERT INTO payments (id, order_id, cents) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		same:   "SELECT order_id = $2 AND cents = $3 FROM payments WHERE id = $1",
		values: []any{p.ID, p.Order, p.Cents},
		tell:   func(ctx context.Context, tx store.OutboxTx) error { return paid.Add(ctx, tx, p) },
	})
}
