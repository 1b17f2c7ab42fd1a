package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	rowColumns = columnsButPayload + `, o.payload`
	rowDigest  = columnsButPayload + `, NULL::bytea`

	columnsButPayload = `o.seq, o.id::text, o.lane, o.state, o.destination, o.keys, o.ordering_key, o.type, o.content_type, o.headers,
	o.not_before, o.created_at, o.publishing_since, o.published_at, o.relay, o.token, o.confirmed, o.refusals, o.unknowns,
	o.class, o.error, o.error_at`
)

// collect reads rows of rowColumns or rowDigest.
func collect(into *[]store.Row) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, toRow)
		return err
	}
}

func toRow(row pgx.CollectableRow) (r store.Row, err error) {
	var headers []byte
	var notBefore, since, published, failed *time.Time
	var confirmed int32
	err = row.Scan(&r.Seq, &r.ID, &r.Lane, &r.State, &r.Destination, &r.Keys, &r.OrderingKey, &r.Type, &r.ContentType, &headers,
		&notBefore, &r.CreatedAt, &since, &published, &r.Relay, &r.Token, &confirmed, &r.Refusals, &r.Unknowns,
		&r.Class, &r.Error, &failed, &r.Payload)
	r.Headers, r.Confirmed, r.CreatedAt = toHeaders(headers), uint32(confirmed), r.CreatedAt.UTC()
	r.NotBefore, r.PublishingSince, r.PublishedAt, r.ErrorAt = orZero(notBefore), orZero(since), orZero(published), orZero(failed)
	return r, err
}

// toHeaders reads what AddOutbox has written. A value that is no text, which
// only a hand can have written, becomes its JSON: a row that cannot be read
// would hold up its lane.
func toHeaders(text []byte) map[string]string {
	if len(text) == 0 {
		return nil
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	headers := make(map[string]string, len(values))
	for name, value := range values {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		headers[name] = s
	}
	return headers
}

// orZero reads a time that may be null.
func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
