package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the producer's driver

	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// relayOnSQLite has its table in a file, written as safely as the default is.
func relayOnSQLite(ctx context.Context, g *ground, queue string, rows int) (site, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return site{}, err
	}
	file := filepath.Join(dir, "outbox.db")
	s, err := sqlite.Open(ctx, sqlite.Config{Path: file})
	if err != nil {
		return site{}, errors.Join(err, os.RemoveAll(dir))
	}
	remove := func() {
		s.Close()
		_ = os.RemoveAll(dir)
	}
	if err = s.Migrate(ctx); err == nil {
		err = fillSQLite(ctx, s, file, queue, rows)
	}
	if err != nil {
		remove()
		return site{}, err
	}
	return site{publishWith(g, s, 0), remove}, nil
}

func fillSQLite(ctx context.Context, s *sqlite.Store, file, queue string, rows int) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		return err
	}
	defer db.Close()
	return fill(rows, func(first, n int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
		if err := outbox.Add(ctx, s.Tx(tx), messages(queue, first, n, 0)...); err != nil {
			return err
		}
		return tx.Commit()
	})
}
