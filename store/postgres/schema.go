package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-mq/holdfast/internal/schema"
	"github.com/holdfast-mq/holdfast/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// expected is what the migrations make, as describe tells it.
//
//go:embed expected.txt
var expected string

func (n names) set() schema.Set {
	files, _ := fs.Sub(migrations, "migrations") // the name is valid
	return schema.Set{
		Dialect: schema.Postgres, Files: files, Values: n.values(), Versions: n.table("migrations"), Schema: n.schema,
	}
}

// Script returns the SQL that makes the tables of a layout, or with down the
// SQL that removes them, for a migration tool of the user's own. It records the
// version, so that [Store.Check] accepts the tables.
func Script(l Layout, down bool) (string, error) {
	n, err := l.names()
	if err != nil {
		return "", err
	}
	return n.set().Script(down)
}

// Migrate makes the schema and the tables, or brings them up to this version.
// The role owns what it makes. Processes that migrate at once wait for each
// other.
func (s *Store) Migrate(ctx context.Context) error {
	return s.withDB("migrating", func(db *sql.DB) error { return s.set().Up(ctx, db) })
}

// Rollback removes the tables, with all that they hold. The schema stays.
func (s *Store) Rollback(ctx context.Context) error {
	return s.withDB("removing the tables", func(db *sql.DB) error { return s.set().Down(ctx, db) })
}

func (s *Store) withDB(doing string, fn func(*sql.DB) error) error {
	db := stdlib.OpenDBFromPool(s.pool)
	defer db.Close() // the pool stays
	return classify(doing, s.sql("GRANT CREATE ON DATABASE the_database TO the_role, or make the schema {Schema} and GRANT ALL ON SCHEMA {Schema} TO the_role"), fn(db))
}

// Check implements [store.Outbox]. It asks for what a relay does and not for
// what a producer, a consumer or a janitor does; their own errors say what to
// grant. A standby is [store.ErrFull].
func (s *Store) Check(ctx context.Context) error {
	err := s.withDB("checking the tables", func(db *sql.DB) error {
		return s.set().Verify(ctx, db, schema.Parse(expected), s.describe)
	})
	if err != nil {
		return err
	}
	return s.checkGrants(ctx)
}

const describeSQL = `
WITH ours AS (
	SELECT c.oid, substr(c.relname, length($2) + 1) AS name
	FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND c.relname = ANY($3::text[])
)
SELECT 'column ' || o.name || '.' || a.attname,
	format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END ||
	CASE WHEN a.attidentity <> '' THEN ' identity' WHEN a.attgenerated <> '' THEN ' generated'
		ELSE coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') END,
	a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM ours o JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
UNION ALL
SELECT 'index ' || substr(c.relname, length($2) + 1),
	CASE WHEN i.indisunique THEN 'unique ' ELSE '' END || 'on ' || o.name || ' (' || (
		SELECT string_agg(pg_get_indexdef(i.indexrelid, n, true), ', ' ORDER BY n) FROM generate_series(1, i.indnkeyatts) n) || ')' ||
	coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '') || CASE WHEN i.indisvalid THEN '' ELSE ', not valid' END,
	i.indisunique
FROM ours o JOIN pg_index i ON i.indrelid = o.oid JOIN pg_class c ON c.oid = i.indexrelid
UNION ALL
SELECT 'row security of ' || name, 'hides rows from this role', true FROM ours WHERE row_security_active(oid)`

// describe tells what is there. It leaves out what others have added and what
// harms nobody: an index that is not unique, a column that fills itself.
func (s *Store) describe(ctx context.Context) ([]schema.Object, error) {
	var tables []string
	for _, name := range []string{"outbox", "relays", "leases", "inbox", "marks", "set_aside"} {
		tables = append(tables, s.prefix+name)
	}
	rows, err := s.pool.Query(ctx, describeSQL, s.schema, s.prefix, tables)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for _, o := range schema.Parse(expected) {
		known[o.Name] = true
	}
	var objects []schema.Object
	var o schema.Object
	var matters bool
	_, err = pgx.ForEachRow(rows, []any{&o.Name, &o.Is, &matters}, func() error {
		if matters || known[o.Name] {
			objects = append(objects, o)
		}
		return nil
	})
	return objects, err
}

const checkGrantsSQL = `
SELECT coalesce(array_agg(privilege || ' ON ' || tab), '{}'), current_user, current_setting('transaction_read_only') = 'on'
FROM (VALUES ('{Outbox}', 'SELECT'), ('{Outbox}', 'UPDATE'), ('{Leases}', 'SELECT'), ('{Leases}', 'UPDATE'),
	('{Relays}', 'SELECT'), ('{Relays}', 'INSERT'), ('{Relays}', 'UPDATE'), ('{Relays}', 'DELETE')) AS needed (tab, privilege)
WHERE NOT has_table_privilege(tab, privilege)`

func (s *Store) checkGrants(ctx context.Context) error {
	var missing []string
	var user string
	var readOnly bool
	err := s.pool.QueryRow(ctx, s.sql(checkGrantsSQL)).Scan(&missing, &user, &readOnly)
	switch {
	case err != nil:
		return classify("checking the grants", s.grants("SELECT ON {Outbox}"), err)
	case len(missing) > 0:
		return fmt.Errorf("%w: the role %q may not do what a relay does; as the tables' owner: GRANT %s TO %s",
			store.ErrRefused, user, strings.Join(missing, ", "), user)
	case readOnly:
		return fmt.Errorf("%w: this connection only reads, as a standby does: connect to the primary", store.ErrFull)
	}
	return nil
}
