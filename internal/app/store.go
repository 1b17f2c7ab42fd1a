package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// StoreConfig says which database, and how its tables are named.
type StoreConfig struct {
	// URL is postgres://user:password@host/database or sqlite:FILE. It is
	// never printed.
	URL string

	// Schema and Prefix are the store's own defaults when empty. SQLite has no
	// schemas.
	Schema string
	Prefix string
}

// Store is all that the command line needs of a database.
type Store interface {
	store.Outbox
	store.Inbox
	store.SetAsides

	// Migrate makes the tables or brings them up to date; Rollback removes
	// them with all that is in them.
	Migrate(ctx context.Context) error
	Rollback(ctx context.Context) error

	Close()
}

const storeForms = "postgres://user:password@host/database or sqlite:FILE"

// dialect is a database behind one of the schemes.
type dialect struct {
	open   func(context.Context) (Store, error)
	script func(down bool) (string, error)
}

// OpenStore opens the database that cfg names. It asks nothing of the tables:
// see [store.Outbox.Check].
func OpenStore(ctx context.Context, cfg StoreConfig) (Store, error) {
	d, err := cfg.dialect()
	if err != nil {
		return nil, err
	}
	return d.open(ctx)
}

// StoreScript returns the SQL that makes the tables, or with down removes
// them, for a migration tool of the user's own.
func StoreScript(cfg StoreConfig, down bool) (string, error) {
	d, err := cfg.dialect()
	if err != nil {
		return "", err
	}
	return d.script(down)
}

func (c StoreConfig) dialect() (dialect, error) {
	scheme, rest, _ := strings.Cut(c.URL, ":")
	switch strings.ToLower(scheme) {
	case "postgres", "postgresql":
		return c.postgres(), nil
	case "sqlite":
		return c.sqlite(rest)
	default:
		return dialect{}, fmt.Errorf("%w: the URL of a store is %s", store.ErrConfig, storeForms)
	}
}

func (c StoreConfig) postgres() dialect {
	layout := postgres.Layout{Schema: c.Schema, Prefix: c.Prefix}
	return dialect{
		open: func(ctx context.Context) (Store, error) {
			s, err := postgres.Open(ctx, postgres.Config{URL: c.URL, Layout: layout})
			if err != nil {
				return nil, err // not a nil *Store in a Store that is not nil
			}
			return s, nil
		},
		script: func(down bool) (string, error) { return postgres.Script(layout, down) },
	}
}

func (c StoreConfig) sqlite(file string) (dialect, error) {
	if c.Schema != "" {
		return dialect{}, fmt.Errorf("%w: SQLite has no schemas: name the tables by a prefix", store.ErrConfig)
	}
	file, err := url.PathUnescape(strings.TrimPrefix(file, "//"))
	if err != nil || strings.Contains(file, "?") {
		return dialect{}, fmt.Errorf("%w: the URL of a store is %s, and a file's name has no question mark", store.ErrConfig, storeForms)
	}
	layout := sqlite.Layout{Prefix: c.Prefix}
	return dialect{
		open: func(ctx context.Context) (Store, error) {
			s, err := sqlite.Open(ctx, sqlite.Config{Path: file, Layout: layout})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		script: func(down bool) (string, error) { return sqlite.Script(layout, down) },
	}, nil
}
