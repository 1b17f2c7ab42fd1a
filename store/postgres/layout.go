package postgres

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

// DefaultSchema is the schema of a Layout that names none.
const DefaultSchema = "holdfast"

// Bounds of names: what is made of both must fit into PostgreSQL's 63 bytes.
const (
	maxSchema = 40
	maxPrefix = 20
)

// Layout is where the tables lie in a database. The zero value is the schema
// "holdfast". Two layouts in one database do not meet.
type Layout struct {
	// Schema is made by Migrate when it is not there; empty means "holdfast".
	// It has lower-case letters, digits and underscores, begins with no digit,
	// has at most 40 bytes, and is no word that SQL reserves.
	Schema string

	// Prefix begins the name of every table and index. It may be empty, and is
	// otherwise as Schema, with at most 20 bytes.
	Prefix string
}

// Tx wraps a transaction of the caller, which stays the caller's to end. As the
// transaction, it is not safe for concurrent use.
func (l Layout) Tx(tx pgx.Tx) *Tx { return &Tx{layout: l, conn: pgxTx{tx}} }

// SQLTx wraps a transaction of the caller over database/sql, with pgx's driver
// or lib/pq. What it adds to an outbox is part of the statement's text, for
// which see docs/postgres.md; [Layout.Tx] sends it as parameters.
func (l Layout) SQLTx(tx *sql.Tx) *Tx { return &Tx{layout: l, conn: sqlTx{tx}} }

func (l Layout) withDefaults() Layout {
	if l.Schema == "" {
		l.Schema = DefaultSchema
	}
	return l
}

var nameForm = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// names are the tables of a layout, ready for SQL.
type names struct {
	schema, prefix string
	replace        *strings.Replacer
}

func (l Layout) names() (names, error) {
	l = l.withDefaults()
	if !nameForm.MatchString(l.Schema) || len(l.Schema) > maxSchema {
		return names{}, fmt.Errorf("%w: schema %q: want lower-case letters, digits and underscores, no digit first, at most %d bytes",
			store.ErrConfig, l.Schema, maxSchema)
	}
	if l.Prefix != "" && (!nameForm.MatchString(l.Prefix) || len(l.Prefix) > maxPrefix) {
		return names{}, fmt.Errorf("%w: prefix %q: want lower-case letters, digits and underscores, no digit first, at most %d bytes",
			store.ErrConfig, l.Prefix, maxPrefix)
	}
	n := names{schema: l.Schema, prefix: l.Prefix}
	var pairs []string
	for word, name := range n.values() {
		pairs = append(pairs, "{"+word+"}", name)
	}
	n.replace = strings.NewReplacer(pairs...)
	return n, nil
}

// sql puts the tables' names into a statement: {Outbox} and so on.
func (n names) sql(statement string) string { return n.replace.Replace(statement) }

// table is a name with its schema. Nothing is quoted: goose looks its own table
// up by the plain name.
func (n names) table(name string) string { return n.schema + "." + n.prefix + name }

// values are what migrations and statements may name.
func (n names) values() map[string]string {
	return map[string]string{
		"Schema": n.schema, "Prefix": n.prefix,
		"Outbox": n.table("outbox"), "Relays": n.table("relays"), "Leases": n.table("leases"),
		"Inbox": n.table("inbox"), "Marks": n.table("marks"), "Aside": n.table("set_aside"),
		"Channel": n.schema + "." + n.prefix, // of the wake-up; no table's
	}
}
