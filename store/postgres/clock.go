package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Clock is the database's clock, which ages are counted by.
func (s *Store) Clock(ctx context.Context) (now time.Time, err error) {
	err = s.brief(ctx, "reading the clock", "", func(b *pgx.Batch) {
		b.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	})
	return now, err
}
