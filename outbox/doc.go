// Package outbox publishes what a service has decided, exactly when the
// decision is committed: [Add] writes messages in the caller's own transaction,
// and a [Relay] publishes them afterwards, in order, confirmed and routed.
//
// [Define] makes an event typed: exchange, routing key, the consumer's queue and
// its binding come from one place, so that producer and consumer cannot
// disagree.
//
// # What a relay promises
//
// Any number of relays work on one outbox. Each holds a lease on some of its
// lanes ([store.Lanes]), and all rows of one ordering key are in one lane, so that
// they are published in the order in which their transactions were committed.
// That is as far as producers let it: two transactions that write rows of one
// ordering key at the same time have no order. Who needs one lets them wait for
// each other, by the row of the aggregate that both change.
//
// A row is published at least once. It is published again when nobody can say
// whether the broker has it: after a crash of its relay, or when its confirm did
// not come. Each such repetition carries [broker.HeaderOutboxRepeat], so that
// there is no unmarked duplicate. Where a duplicate is worse than a wait,
// [LeaveForHuman] publishes such a row never again by itself.
//
// An outage of the broker or of the database spends nothing and fails no row.
// A row fails only for its own fault: the broker answered its publication with a
// refusal. A destination that is broken is left alone for a while, and stops no
// other.
//
// No clock decides anything: relays judge each other by their own monotonic
// clocks, and rows have the database's time.
package outbox
