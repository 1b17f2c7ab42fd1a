// Orders is a whole service on PostgreSQL and RabbitMQ: what it says yes to
// happens once, whatever is killed in between.
//
//   - It takes orders and payments over HTTP, and writes each with the event
//     that tells of it in one transaction (api.go).
//   - A relay publishes the events (relay.go).
//   - Billing writes an invoice once, and tells of it in the same transaction.
//     A payment of what has no invoice yet is set aside, until `holdfast
//     setaside redrive` gives it back to work (billing.go).
//   - Accounts books the invoice once (accounts.go).
//
// DATABASE_URL and AMQP_URL say where the servers are. It runs in one process,
// or by -run in several, of which each may run any number of times.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// part is what runs until ctx ends, or until it cannot go on.
type part func(ctx context.Context) error

func main() {
	run := flag.String("run", "api,relay,billing,accounts", "the `PARTS` to run")
	listen := flag.String("listen", "127.0.0.1:8080", "the `ADDRESS` to take orders at")
	lease := flag.Duration("lease", 15*time.Second, "for how long a relay that was killed keeps its rows from the others")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, strings.Split(*run, ","), *listen, *lease); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, names []string, listen string, lease time.Duration) error {
	s := &service{}
	defer s.close()
	if err := s.open(ctx); err != nil {
		return err
	}
	all := map[string]part{
		"api":      func(ctx context.Context) error { return s.takeOrders(ctx, listen) },
		"relay":    func(ctx context.Context) error { return s.relay(ctx, lease) },
		"billing":  s.bill,
		"accounts": s.account,
	}
	var parts []part
	for _, name := range names {
		if all[name] == nil {
			return fmt.Errorf("-run: there is no part %q: give some of api, relay, billing, accounts", name)
		}
		parts = append(parts, all[name])
	}
	return together(ctx, parts...)
}

// together runs the parts until all have ended, and ends all when one cannot
// go on. It returns the error of that one.
func together(ctx context.Context, parts ...part) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(parts))
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			if err := p(ctx); err != nil {
				failed <- err
				stop()
			}
		})
	}
	running.Wait()
	close(failed)
	return <-failed // nil when there is none
}
