package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// A service writes its row and the message about it in one transaction: both
// are there, or neither.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.db")

	s, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		log.Fatal(err)
	}

	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := placeOrder(ctx, db, s); err != nil {
		log.Fatal(err)
	}

	row, err := s.Row(ctx, "0192f0c1-0000-7000-8000-000000000001")
	fmt.Println(row.State, row.Destination, row.Keys, err)
	// Output: pending orders [order.placed.v1] <nil>
}

func placeOrder(ctx context.Context, db *sql.DB, s *sqlite.Store) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total INTEGER)"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (total) VALUES (?)", 1250); err != nil {
		return err
	}
	err = s.Tx(tx).AddOutbox(ctx, []store.Entry{{
		ID:          "0192f0c1-0000-7000-8000-000000000001",
		Destination: "orders",
		Keys:        []string{"order.placed.v1"},
		Payload:     []byte(`{"total":1250}`),
	}})
	if err != nil {
		return err
	}
	return tx.Commit()
}
