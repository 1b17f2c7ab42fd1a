package postgres

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

// wire stands before the server and counts how often it says that it is ready
// for the next request: once for each round trip.
type wire struct {
	url    string
	server string
	ready  atomic.Int64
}

func newWire(t *testing.T, serverURL string) *wire {
	t.Helper()
	u, err := url.Parse(serverURL)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	w := &wire{server: u.Host}
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	w.url = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.forward(client)
		}
	}()
	return w
}

func (w *wire) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	answers := bufio.NewReader(server)
	for {
		var head [5]byte // a type, and a length that counts itself
		if _, err := io.ReadFull(answers, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(answers, body); err != nil {
			return
		}
		if head[0] == 'Z' {
			w.ready.Add(1)
		}
		if _, err := client.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

func TestAddIsOneRoundTrip(t *testing.T) {
	p, _ := migrated(t)
	w := newWire(t, p.server.URL)
	for _, n := range []int{1, 700} {
		entries := make([]store.Entry, n)
		for i := range entries {
			entries[i] = newEntry(i % store.Lanes)
		}
		t.Run(fmt.Sprintf("pgx.Tx/%d_entries", n), func(t *testing.T) {
			conn, err := pgx.Connect(within(t), w.url)
			must(t, err)
			defer conn.Close(context.Background())
			tx, err := conn.Begin(within(t))
			must(t, err)
			defer tx.Rollback(context.Background()) //nolint:errcheck // the connection ends anyway
			w.counts(t, func() { must(t, p.layout.Tx(tx).AddOutbox(within(t), entries)) })
		})
		t.Run(fmt.Sprintf("sql.Tx/%d_entries", n), func(t *testing.T) {
			db, err := sql.Open("pgx", w.url)
			must(t, err)
			defer db.Close()
			tx, err := db.BeginTx(within(t), nil)
			must(t, err)
			defer tx.Rollback() //nolint:errcheck // the connection ends anyway
			w.counts(t, func() { must(t, p.layout.SQLTx(tx).AddOutbox(within(t), entries)) })
		})
	}
}

func (w *wire) counts(t *testing.T, call func()) {
	t.Helper()
	before := w.ready.Load()
	call()
	if trips := w.ready.Load() - before; trips != 1 {
		t.Errorf("%d round trips on a fresh connection, want 1", trips)
	}
}
