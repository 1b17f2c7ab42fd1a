package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/holdfast-mq/holdfast/store"
)

// Config says which file, and where in it.
type Config struct {
	// Path is the file, which is made when it is not there. One of Path and DB
	// is required.
	Path string

	// DB is the caller's own, of the driver "sqlite", and stays open after
	// Close. The store then does everything through it: so that one that has a
	// single connection (SetMaxOpenConns(1)) is never asked for while the caller
	// has a transaction of it open, and so that its pragmas are those of the
	// caller. It must have a busy_timeout.
	DB *sql.DB

	// Relaxed lets a commit return before the disk has it (synchronous NORMAL).
	// A crash of the process loses nothing then; one of the machine may lose
	// the last commits of the store, such as that a row was published. It is
	// for Path alone, and says nothing of the service's own transactions.
	Relaxed bool

	Layout
}

// readers is how many may read at once.
const readers = 4

// busyTimeout is how long a connection waits for another writer, in
// milliseconds.
const busyTimeout = 5000

func (c Config) validate() error {
	if (c.Path == "") == (c.DB == nil) {
		return fmt.Errorf("%w: one of Path and DB is required", store.ErrConfig)
	}
	if c.DB != nil && c.Relaxed {
		return fmt.Errorf("%w: Relaxed is for Path alone: set synchronous in the DSN of DB", store.ErrConfig)
	}
	return nil
}

// connect opens the connections of a store and proves that the file is there
// and is a database.
func (s *Store) connect(ctx context.Context, c Config) error {
	if c.DB != nil {
		s.writer, s.reader = c.DB, c.DB
		return s.adopt(ctx)
	}
	s.path, s.relaxed = c.Path, c.Relaxed
	var err error
	if s.writer, err = s.dial("_txlock=immediate", 1); err != nil {
		return err
	}
	s.owned = append(s.owned, s.writer)
	var mode string
	if err = s.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return classify("opening "+c.Path, err)
	}
	if s.reader, err = s.dial("_pragma=query_only(1)", readers); err != nil {
		return err
	}
	s.owned = append(s.owned, s.reader)
	return s.watch(ctx)
}

// adopt looks at the caller's database.
func (s *Store) adopt(ctx context.Context) error {
	var wait int
	if err := s.writer.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&wait); err != nil {
		return classify("opening", err)
	}
	if wait == 0 {
		return fmt.Errorf("%w: DB has no busy_timeout and would be refused by any other writer: add _pragma=busy_timeout(%d) to its DSN",
			store.ErrConfig, busyTimeout)
	}
	err := s.writer.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&s.path)
	if err != nil {
		return classify("opening", err)
	}
	if s.path == "" { // in memory: nobody else can look
		return nil
	}
	return s.watch(ctx)
}

func (s *Store) watch(ctx context.Context) error {
	db, err := s.dial("_pragma=query_only(1)", 1)
	if err != nil {
		return err
	}
	s.owned = append(s.owned, db)
	s.watcher = newWatcher(db)
	_, err = s.watcher.version(ctx)
	return err
}

// dial opens connections to the file, as many as most at once.
func (s *Store) dial(option string, most int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(s.path, s.relaxed)+"&"+option)
	if err != nil {
		return nil, classify("opening "+s.path, err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// dsn is the driver's name of a file. The path is escaped, since a question
// mark in it would begin the options.
func dsn(path string, relaxed bool) string {
	synchronous := "FULL"
	if relaxed {
		synchronous = "NORMAL"
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return fmt.Sprintf("%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(%s)", u.String(), busyTimeout, synchronous)
}
