package store

import "errors"

// The classes of what can go wrong. Stores wrap them with a text that says
// what to do; callers ask with [errors.Is].
var (
	// ErrUnreachable: the database does not answer. Trying again may help.
	ErrUnreachable = errors.New("store: the database does not answer")

	// ErrRefused: the database answers and refuses who we are or what we ask.
	ErrRefused = errors.New("store: the database refused")

	// ErrSchema: the tables are missing, from another version, or not as the
	// migrations make them. The text says which, and what to run.
	ErrSchema = errors.New("store: the schema is not what is expected")

	// ErrConfig: what the caller asked can never work.
	ErrConfig = errors.New("store: configuration")

	// ErrFull: the database has no room, or is read-only. Nothing was written.
	ErrFull = errors.New("store: the database takes no writes")

	// ErrBusy: another writer held the database for longer than this one
	// waits. Nothing was written; trying again helps.
	ErrBusy = errors.New("store: the database is busy")

	// ErrNotFound: no row has that id.
	ErrNotFound = errors.New("store: no such row")

	// ErrDuplicate: a row with that id is there already. Nothing was written,
	// and on PostgreSQL the caller's transaction can only be rolled back.
	ErrDuplicate = errors.New("store: the id is there already")
)
