package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Dialect is the kind of database.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite3"
)

// Set is the migrations of one store, at one place in a database.
//
// Its methods take an open database and do not close it. They may be called
// concurrently, and by several processes: each migration is made once.
type Set struct {
	Dialect Dialect

	// Files has the migrations in its root, named 00001_outbox.sql and so on.
	// Each is a text template that starts with the line "-- +goose Up" and has
	// a line "-- +goose Down" between what makes and what removes the tables.
	Files fs.FS

	// Values are what the templates may name: {{.Schema}} for "Schema". One
	// that is missing is an error. They come into the SQL as they are: the
	// store has validated them.
	Values map[string]string

	// Versions is the name of goose's version table, with its schema.
	Versions string

	// Schema is made when it is not there. PostgreSQL only; empty for none.
	Schema string
}

// Up makes all migrations that are not made yet.
func (s Set) Up(ctx context.Context, db *sql.DB) error {
	if err := s.makeSchema(ctx, db); err != nil {
		return err
	}
	return s.migrate(ctx, db, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
}

// Down undoes all migrations and removes the version table. All that the
// tables hold is lost. A schema stays, since it may hold what is not ours.
func (s Set) Down(ctx context.Context, db *sql.DB) error {
	version, err := s.version(ctx, db)
	if err != nil || version == absent {
		return err
	}
	err = s.migrate(ctx, db, func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, 0)
		return err
	})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "DROP TABLE IF EXISTS "+s.Versions)
	return err
}

// attempts is how often a migration is tried whose place another process was
// just taking. SQLite has no lock to wait for: the loser's transaction fails
// as a whole, and it looks again.
const attempts = 5

func (s Set) migrate(ctx context.Context, db *sql.DB, run func(*goose.Provider) error) error {
	var err error
	for range attempts {
		var before, after int64
		if before, err = s.version(ctx, db); err != nil {
			return err
		}
		if err = s.once(db, run); err == nil {
			return nil
		}
		var unread error
		if after, unread = s.version(ctx, db); unread != nil || after == before {
			return err
		}
	}
	return err
}

func (s Set) once(db *sql.DB, run func(*goose.Provider) error) error {
	provider, err := s.provider(db)
	if err != nil {
		return err
	}
	return run(provider)
}

func (s Set) provider(db *sql.DB) (*goose.Provider, error) {
	options := []goose.ProviderOption{
		goose.WithTableName(s.Versions),
		goose.WithDisableGlobalRegistry(true), // the user's own migrations are not ours to run
		goose.WithLogger(goose.NopLogger()),
	}
	if s.Dialect == Postgres {
		options = append(options, goose.WithSessionLocker(locker{lockKey(s.Versions)}))
	}
	return goose.NewProvider(database.Dialect(s.Dialect), db, templates{s.Files, s.Values}, options...)
}

// absent is the version of a database that has no version table.
const absent int64 = -1

// version returns the newest migration that was made. It writes nothing, which
// goose's own does: a Check must work without the right to make tables.
func (s Set) version(ctx context.Context, db *sql.DB) (int64, error) {
	there, err := s.versioned(ctx, db)
	if err != nil || !there {
		return absent, err
	}
	var version sql.NullInt64
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+s.Versions).Scan(&version)
	if err != nil {
		return 0, err
	}
	return version.Int64, nil
}

func (s Set) versioned(ctx context.Context, db *sql.DB) (there bool, err error) {
	query := "SELECT to_regclass($1) IS NOT NULL"
	if s.Dialect == SQLite {
		query = "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = $1"
	}
	err = db.QueryRowContext(ctx, query, s.Versions).Scan(&there)
	return there, err
}

// latest is the newest migration that there is.
func (s Set) latest() (int64, error) {
	names, err := s.names()
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(names[len(names)-1])
}

// names returns the migrations' files, the oldest first.
func (s Set) names() ([]string, error) {
	names, err := fs.Glob(s.Files, "*.sql")
	if err == nil && len(names) == 0 {
		err = errors.New("schema: no migrations")
	}
	if err != nil {
		return nil, fmt.Errorf("schema: reading the migrations: %w", err)
	}
	return names, nil
}
