package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-mq/holdfast/store"
)

// PostgreSQL's own codes, where one of a class is not as the others.
const (
	codeUnique     = "23505"
	codePermission = "42501"
	codeReadOnly   = "25006"
	codeDiskFull   = "53100"
	codeNoTable    = "42P01"
	codeNoColumn   = "42703"
	codeNoFunction = "42883"
	codeNoSchema   = "3F000"
	codeNoDatabase = "3D000"
	codeNoLock     = "55P03"
	codeCutOff     = "57014"
)

// classify wraps an error of the database with the class that it has. doing
// says what failed, and grants what the role needs for it.
func classify(doing, grants string, err error) error {
	if err == nil || hasClass(err) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	class := classOf(err)
	if class == nil { // not the database's, such as one of the caller's own
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	return fmt.Errorf("%w: %s: %w%s", class, doing, err, remedy(class, grants, err))
}

// state returns PostgreSQL's code of an error, from pgx as from lib/pq.
func state(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

func hasClass(err error) bool {
	for _, class := range []error{
		store.ErrUnreachable, store.ErrRefused, store.ErrSchema, store.ErrConfig, store.ErrFull, store.ErrBusy,
		store.ErrNotFound, store.ErrDuplicate,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func classOf(err error) error {
	if code := state(err); len(code) == 5 {
		return classOfCode(code)
	}
	return classOfConnection(err)
}

func classOfCode(code string) error {
	switch code {
	case codeReadOnly, codeDiskFull:
		return store.ErrFull
	case codeNoTable, codeNoColumn, codeNoFunction, codeNoSchema:
		return store.ErrSchema
	case codeNoLock, codeCutOff:
		return store.ErrBusy
	case codePermission, codeNoDatabase:
		return store.ErrRefused
	}
	switch code[:2] {
	case "08", "57", "53", "58": // connection, shutdown, resources, the system below
		return store.ErrUnreachable
	case "40":
		return store.ErrBusy
	case "22", "54": // data and sizes that cannot be stored
		return store.ErrConfig
	}
	return store.ErrRefused
}

func classOfConnection(err error) error {
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, driver.ErrBadConn), strings.Contains(err.Error(), "conn closed"):
		return store.ErrUnreachable
	}
	return nil
}

func remedy(class error, grants string, err error) string {
	switch {
	case state(err) == codePermission && grants != "":
		return "; as the tables' owner: " + grants
	case errors.Is(class, store.ErrSchema):
		return "; run holdfast migrate, or look whether the schema and prefix are the right ones"
	case state(err) == codeReadOnly:
		return "; connect to the primary, not to a standby"
	case state(err) == codeNoLock:
		return "; somebody holds a lock on the table: see pg_locks"
	}
	return ""
}

// grants writes what the roles of docs/postgres.md need, for a table and what
// may be done with it.
func (n names) grants(what string) string {
	return n.sql("GRANT USAGE ON SCHEMA {Schema} TO the_role; GRANT " + what + " TO the_role")
}
