package sqlite

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/store"
)

// Tx is a transaction of the caller, or one of the store's own. It implements
// [store.OutboxTx], [store.InboxTx] and [store.SetAsideTx].
type Tx struct {
	names
	on      on
	invalid error // the layout's
}

var (
	_ store.OutboxTx   = (*Tx)(nil)
	_ store.InboxTx    = (*Tx)(nil)
	_ store.SetAsideTx = (*Tx)(nil)
)

// addSQL has all entries in one parameter and all payloads in another, one
// after the other: a statement has a bounded number of parameters. A part of a
// value without bytes is null to SQLite.
const addSQL = `
INSERT INTO {outbox} (id, lane, destination, ordering_key, keys, type, content_type, headers, not_before, scheduled, payload)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8,
	coalesce(value ->> 8 > {now}, 0), coalesce(substr(?2, 1 + (value ->> 9), value ->> 10), x'')
FROM json_each(?1) ORDER BY key`

// AddOutbox implements [store.OutboxTx]. Where an id is there already, the
// transaction goes on without any of the entries.
func (t *Tx) AddOutbox(ctx context.Context, entries []store.Entry) error {
	if t.invalid != nil || len(entries) == 0 {
		return t.invalid
	}
	rows := make([][]any, len(entries))
	payloads := []byte{} // not nil, which would be null
	for i := range entries {
		e := &entries[i]
		if err := e.Validate(); err != nil {
			return err
		}
		rows[i] = []any{
			e.ID, e.Lane, e.Destination, e.OrderingKey, jsonOf(e.Keys), e.Type, e.ContentType, headerText(e.Headers),
			microsOf(e.NotBefore), len(payloads), len(e.Payload),
		}
		payloads = append(payloads, e.Payload...)
	}
	_, err := t.on.ExecContext(ctx, t.sql(addSQL), jsonOf(rows), payloads)
	if isDuplicate(err) {
		return fmt.Errorf("%w: adding to the outbox: %w", store.ErrDuplicate, err)
	}
	return classify("adding to the outbox", err)
}

func headerText(headers map[string]string) any {
	if len(headers) == 0 {
		return nil
	}
	return jsonOf(headers)
}
