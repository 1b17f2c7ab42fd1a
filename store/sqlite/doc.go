// Package sqlite keeps an outbox, an inbox and what is set aside in an SQLite
// file, with a driver in pure Go.
//
// SQLite has one writer at a time in all processes together, and a commit of
// it waits for the disk. So the store writes through one connection of its
// own, in short transactions, and reads through others that nobody waits for.
// Where another process writes for longer than five seconds, the answer is
// [store.ErrBusy].
//
// The service's own transactions should begin with the right to write
// (_txlock=immediate in the driver's DSN) and wait for others
// (_pragma=busy_timeout(5000)): one that reads first and then writes may
// otherwise be refused at once, and only a rollback helps. docs/sqlite.md says
// what the file promises.
package sqlite
