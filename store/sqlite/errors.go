package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/holdfast-mq/holdfast/store"
)

// classify wraps an error of the database with the class that it has, and says
// what to do. doing says what failed. What has a class already stays as it is.
func classify(doing string, err error) error {
	if err == nil || classified(err) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("sqlite: %s: %w", doing, err)
	}
	remedy, class := classOf(err)
	if class == nil {
		return fmt.Errorf("sqlite: %s: %w", doing, err)
	}
	return fmt.Errorf("%w: %s: %w%s", class, doing, err, remedy)
}

func classified(err error) bool {
	for _, class := range []error{
		store.ErrUnreachable, store.ErrRefused, store.ErrSchema, store.ErrConfig, store.ErrFull, store.ErrBusy,
		store.ErrNotFound, store.ErrDuplicate, errClosed,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// code returns SQLite's extended code of an error, or 0.
func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isDuplicate reports whether a row with that key was there.
func isDuplicate(err error) bool {
	c := code(err)
	return c == codes.SQLITE_CONSTRAINT_UNIQUE || c == codes.SQLITE_CONSTRAINT_PRIMARYKEY
}

// classOf returns what to do, and the class; nil is none.
func classOf(err error) (remedy string, class error) {
	switch extended := code(err); extended & 0xff {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		if extended == codes.SQLITE_BUSY_SNAPSHOT {
			return "; the transaction has read before it wrote: roll it back, and begin it with _txlock=immediate", store.ErrBusy
		}
		return "; somebody writes for long: look for an open transaction on the file", store.ErrBusy
	case codes.SQLITE_FULL:
		return "; make room on the disk, or raise max_page_count", store.ErrFull
	case codes.SQLITE_READONLY:
		return "; the file, its folder or the connection is read-only", store.ErrFull
	case codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return "; look at who may write the file and its folder", store.ErrRefused
	case codes.SQLITE_NOTADB:
		return "; the file is no SQLite database, or it is encrypted", store.ErrRefused
	case codes.SQLITE_CANTOPEN, codes.SQLITE_IOERR, codes.SQLITE_CORRUPT, codes.SQLITE_PROTOCOL, codes.SQLITE_NOMEM:
		return "; look whether the folder is there, is writable and is a local file system", store.ErrUnreachable
	case codes.SQLITE_TOOBIG, codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_RANGE:
		return "", store.ErrConfig
	case codes.SQLITE_ERROR, codes.SQLITE_SCHEMA:
		if strings.Contains(err.Error(), "no such") || strings.Contains(err.Error(), "has no column") {
			return "; run holdfast migrate, or look whether the file and the prefix are the right ones", store.ErrSchema
		}
		return "", store.ErrRefused
	}
	return "", nil
}
