package examples

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// shop is the servers of one test: a database and a virtual host of its own.
type shop struct {
	binary, holdfast string
	database, amqp   string
	pool             *pgxpool.Pool
	tables           *postgres.Store
	rmq              *rabbitmq.Broker

	refused  atomic.Int64
	accepted []string
	repeats  int // marked ones among all publications
}

func openShop(t *testing.T, server testenv.RabbitMQ) *shop {
	t.Helper()
	s := &shop{
		binary: program(t, "examples/orders"), holdfast: program(t, "cmd/holdfast"),
		database: newDatabase(t), amqp: server.VHost(t),
	}
	var err error
	if s.pool, err = pgxpool.New(t.Context(), s.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	if s.tables, err = postgres.Open(t.Context(), postgres.Config{Pool: s.pool}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.tables.Close)
	if s.rmq, err = rabbitmq.Open(t.Context(), rabbitmq.Config{URL: s.amqp}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.rmq.Close() })
	return s
}

// newDatabase makes a database that is dropped when the test ends.
func newDatabase(t *testing.T) string {
	t.Helper()
	server, name := testenv.NeedPostgres(t).URL, "orders_"+strings.ToLower(rand.Text()[:12])
	do := func(statement string) {
		conn, err := pgx.Connect(context.Background(), server)
		if err == nil {
			defer func() { _ = conn.Close(context.Background()) }()
			_, err = conn.Exec(context.Background(), statement)
		}
		if err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	do("CREATE DATABASE " + name)
	t.Cleanup(func() { do("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = name
	return u.String()
}

// number asks the database for one number.
func (s *shop) number(t *testing.T, query string) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(context.Background(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *shop) asides(t *testing.T) int {
	t.Helper()
	groups, err := s.tables.AsideReasons(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// duplicates is how many messages the inbox has kept from being applied again.
func (s *shop) duplicates(t *testing.T) (n int) {
	t.Helper()
	all, err := s.tables.Inboxes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range all {
		n += in.Duplicates
	}
	return n
}

// unpublished is how many rows of the outbox are not published.
func (s *shop) unpublished(t *testing.T) (n int) {
	t.Helper()
	status, err := s.tables.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range status.Groups {
		if g.State != store.Published {
			n += g.Count
		}
	}
	return n
}

// redrive does what an operator types.
func (s *shop) redrive(t *testing.T) {
	t.Helper()
	run(t, "", []string{"HOLDFAST_STORE=" + s.database, "AMQP_URL=" + s.amqp},
		s.holdfast, "setaside", "redrive", "--reason", "no_invoice", "--limit", "1000", "--yes").wants(t, 0, "gave back")
}

// payEarly pays orders that nobody has placed yet, and waits until the payments
// are set aside.
func (s *shop) payEarly(t *testing.T, service *process) {
	t.Helper()
	for n := range earlyPayments {
		if err := s.client(service).pay(t.Context(), orderID(n), n); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, patience, "the early payments are set aside", func() bool { return s.asides(t) == earlyPayments })
}
