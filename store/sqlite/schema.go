package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/internal/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the name of goose's table, without its prefix.
const versions = "migrations"

func (n names) set() (schema.Set, error) {
	files, err := fs.Sub(migrations, "migrations")
	return schema.Set{
		Dialect: schema.SQLite, Files: files, Values: map[string]string{"Prefix": n.prefix}, Versions: n.prefix + versions,
	}, err
}

// Script returns what Migrate does, or with down what Rollback does, as SQL for
// the user's own migration tool.
func Script(l Layout, down bool) (string, error) {
	n, err := l.names()
	if err != nil {
		return "", err
	}
	set, err := n.set()
	if err != nil {
		return "", err
	}
	return set.Script(down)
}

// Migrate makes the tables, or brings them up to this version.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrate("migrating", func(set schema.Set) error { return set.Up(ctx, s.writer) })
}

// Rollback removes all tables and what is in them.
func (s *Store) Rollback(ctx context.Context) error {
	return s.migrate("rolling back", func(set schema.Set) error { return set.Down(ctx, s.writer) })
}

func (s *Store) migrate(doing string, run func(schema.Set) error) error {
	set, err := s.set()
	if err == nil {
		err = run(set)
	}
	return classify(doing, err)
}

// Check implements [store.Outbox]. It also asks for the right to write: a file
// that is read-only would be a relay that fails at night.
func (s *Store) Check(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	set, err := s.set()
	if err != nil {
		return err
	}
	want, err := s.expected(ctx)
	if err != nil {
		return err
	}
	err = set.Verify(ctx, s.reader, want, func(ctx context.Context) ([]schema.Object, error) {
		there, err := describe(ctx, s.reader, s.prefix)
		return relevant(there, want), err
	})
	if err != nil {
		return classify("checking the tables", err)
	}
	return s.write(ctx, "checking whether the file takes writes", func(tx on) error {
		_, err := count(ctx, tx, "checking whether the file takes writes", s.sql(`UPDATE {leases} SET token = token WHERE lane = -1`))
		return err
	})
}

// expected makes the tables in memory and describes them: so there is no second
// description that could be wrong.
func (s *Store) expected(ctx context.Context) ([]schema.Object, error) {
	script, err := Script(s.Layout, false)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if _, err := db.ExecContext(ctx, script); err != nil {
		return nil, classify("making the tables in memory", err)
	}
	return describe(ctx, db, s.prefix)
}

// relevant leaves out what somebody has added without harm: more columns, and
// indexes that refuse no row.
func relevant(there, want []schema.Object) []schema.Object {
	return slices.DeleteFunc(there, func(o schema.Object) bool {
		known := slices.ContainsFunc(want, func(w schema.Object) bool { return w.Name == o.Name })
		return !known && !strings.Contains(strings.ToUpper(o.Is), "UNIQUE")
	})
}

// describe says what columns and indexes the tables have.
func describe(ctx context.Context, db on, prefix string) ([]schema.Object, error) {
	var all []schema.Object
	for _, table := range tables {
		columns, err := collect(ctx, db, "reading the tables", func(row scanner) (schema.Object, error) { return scanColumn(row, table) },
			`SELECT name, type, "notnull", coalesce(dflt_value, ''), pk FROM pragma_table_xinfo(?)`, prefix+table)
		if err != nil {
			return nil, err
		}
		indexes, err := collect(ctx, db, "reading the indexes", func(row scanner) (schema.Object, error) { return scanIndex(row, prefix) },
			`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`, prefix+table)
		if err != nil {
			return nil, err
		}
		all = append(append(all, columns...), indexes...)
	}
	return all, nil
}

func scanColumn(row scanner, table string) (o schema.Object, err error) {
	var name, kind, preset string
	var notNull bool
	var key int
	err = row.Scan(&name, &kind, &notNull, &preset, &key)
	o = schema.Object{Name: "column " + table + "." + name, Is: kind}
	if notNull {
		o.Is += " not null"
	}
	if preset != "" {
		o.Is += " default " + preset
	}
	if key > 0 {
		o.Is += fmt.Sprintf(" key %d", key)
	}
	return o, err
}

func scanIndex(row scanner, prefix string) (o schema.Object, err error) {
	err = row.Scan(&o.Name, &o.Is)
	o = schema.Object{Name: "index " + strings.TrimPrefix(o.Name, prefix), Is: strings.Join(strings.Fields(o.Is), " ")}
	return o, err
}
