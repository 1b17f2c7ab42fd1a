// Package store is the seam between Holdfast and a database: the outbox that
// a relay empties, the inbox that knows what was handled, and the table of
// what is set aside. [store/postgres] and [store/sqlite] implement all of it,
// and the suite store/storetest says what that means.
//
// What a service writes, it writes in its own transaction: a store wraps that
// transaction ([OutboxTx], [InboxTx], [SetAsideTx]) and never begins, commits
// or rolls back one of the caller's. What a relay, a reaper or an operator
// does ([Outbox], [Inbox], [SetAsides]) are short transactions of the store's
// own.
//
// All times are the database's own clock, so that producers and relays whose
// clocks differ agree. Nothing that decides who may publish depends on a
// clock: see [Outbox.Beat].
package store
