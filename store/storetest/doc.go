// Package storetest is the suite that every store of Holdfast passes, on the
// real database. It proves what the comments of package store promise: [Run]
// runs a case for each promise, as a subtest whose name says it.
//
// Half of the suite is about failures: transactions that roll back, relays that
// were paused and wake late, two who want the same row, tables of another
// version, rows that no version writes. A case waits for what it expects up to
// a generous deadline, and nothing in it depends on how fast a database is.
//
// There are no skips. A case that a database cannot be put into is not run, and
// its [Outcome] says why; [Table] shows the results of several stores beside
// each other.
package storetest
