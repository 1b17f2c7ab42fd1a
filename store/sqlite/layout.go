package sqlite

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/holdfast-mq/holdfast/store"
)

// DefaultPrefix is the prefix of a Layout that names none.
const DefaultPrefix = "holdfast_"

const maxPrefix = 40

// Layout says how the tables are called. Two layouts in one file do not meet.
type Layout struct {
	// Prefix begins the name of every table and index; empty means "holdfast_".
	// It has lower-case letters, digits and underscores, begins with no digit,
	// and has at most 40 bytes. SQLite keeps "sqlite_" for itself.
	Prefix string
}

// Tx wraps a transaction of the caller, which stays the caller's to end. As the
// transaction, it is not safe for concurrent use.
func (l Layout) Tx(tx *sql.Tx) *Tx {
	n, err := l.names()
	return &Tx{on: tx, names: n, invalid: err}
}

var prefixForm = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// names makes statements with the names of one layout.
type names struct {
	prefix  string
	replace *strings.Replacer
}

// tables are all of them, without their prefix.
var tables = []string{"outbox", "relays", "leases", "inbox", "marks", "set_aside"}

func (l Layout) names() (names, error) {
	prefix := l.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !prefixForm.MatchString(prefix) || len(prefix) > maxPrefix || strings.HasPrefix(prefix, "sqlite_") {
		return names{}, fmt.Errorf("%w: prefix %q: want lower-case letters, digits and underscores, no digit first, at most %d bytes, not sqlite_",
			store.ErrConfig, prefix, maxPrefix)
	}
	pairs := []string{"{now}", now}
	for _, table := range tables {
		pairs = append(pairs, "{"+table+"}", prefix+table)
	}
	return names{prefix, strings.NewReplacer(pairs...)}, nil
}

// sql puts the tables' names and the clock into a statement: {outbox}, {now}.
func (n names) sql(statement string) string { return n.replace.Replace(statement) }

// now is the database's clock in microseconds since 1970, which SQLite reads in
// milliseconds. It stands still within a statement.
const now = `(CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000)`
