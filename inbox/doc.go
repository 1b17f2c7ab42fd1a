// Package inbox lets a consumer apply each message once, though brokers
// deliver at least once, and lets it notice what comes out of order.
//
// [Once] records a message in the transaction that applies it. [After] is for
// effects that no transaction of one database covers: its condition is that
// each of them is idempotent by itself. [Latest] and [Sequence] guard an
// aggregate against events that come late, [SetAside] keeps a message that
// cannot be applied now, and [Prune] removes records that nobody needs.
//
//	func charge(ctx context.Context, m *holdfast.Message) error {
//		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//			_, err := inbox.Once(ctx, tables.Tx(tx), "billing", inbox.Of(m), func(ctx context.Context) error {
//				return insertCharge(ctx, tx, m)
//			})
//			return err
//		})
//	}
//
// Who calls it commits when the error is nil and rolls back otherwise, as
// BeginFunc does: an error that is committed all the same marks a message as
// handled whose effect is not there.
//
// Nothing here counts in memory or asks a clock of the process; what two
// processes do at once, the database decides.
package inbox
