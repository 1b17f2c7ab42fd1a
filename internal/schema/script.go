package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Script returns what Up does, or with down what Down does, as SQL for the
// user's own migration tool. It records the versions, so that [Set.Verify]
// accepts what it made, and begins no transaction of its own.
func (s Set) Script(down bool) (string, error) {
	names, err := s.names()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if down {
		err = s.scriptDown(&out, names)
	} else {
		err = s.scriptUp(&out, names)
	}
	return out.String(), err
}

func (s Set) scriptUp(out *strings.Builder, names []string) error {
	if s.Schema != "" {
		fmt.Fprintf(out, "CREATE SCHEMA IF NOT EXISTS %s;\n\n", s.Schema)
	}
	table, err := s.versionTable()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s;\n", table)
	s.scriptVersion(out, 0)
	for _, name := range names {
		up, _, err := s.parts(name)
		if err != nil {
			return err
		}
		version, err := goose.NumericComponent(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n", up)
		s.scriptVersion(out, version)
	}
	return nil
}

func (s Set) scriptVersion(out *strings.Builder, version int64) {
	fmt.Fprintf(out, "INSERT INTO %s (version_id, is_applied) VALUES (%d, true);\n", s.Versions, version)
}

func (s Set) scriptDown(out *strings.Builder, names []string) error {
	for _, name := range slices.Backward(names) {
		_, down, err := s.parts(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n\n", down)
	}
	fmt.Fprintf(out, "DROP TABLE IF EXISTS %s;\n", s.Versions)
	return nil
}

// parts returns one migration's two halves, without goose's own comments.
func (s Set) parts(name string) (up, down string, err error) {
	text, err := templates{s.Files, s.Values}.render(name)
	if err != nil {
		return "", "", err
	}
	up, down, found := strings.Cut(string(text), "-- +goose Down\n")
	if !found {
		return "", "", fmt.Errorf("schema: %s has no half that undoes it", name)
	}
	return plain(up), plain(down), nil
}

func plain(sql string) string {
	lines := slices.DeleteFunc(strings.Split(sql, "\n"), func(l string) bool {
		return strings.HasPrefix(l, "-- +goose")
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// versionTable returns the statement with which goose makes its table.
func (s Set) versionTable() (string, error) {
	store, err := database.NewStore(database.Dialect(s.Dialect), s.Versions)
	if err != nil {
		return "", err
	}
	var r recorder
	err = store.CreateVersionTable(context.Background(), &r)
	return strings.ReplaceAll(r.statement, "\n\t", "\n"), err
}

// recorder is a connection that writes down what it is told to execute.
type recorder struct {
	database.DBTxConn
	statement string
}

func (r *recorder) ExecContext(_ context.Context, statement string, args ...any) (sql.Result, error) {
	if len(args) > 0 {
		return nil, errors.New("schema: a statement with arguments cannot be printed")
	}
	r.statement = statement
	return nil, nil
}
