package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// rowColumns is what scanRow reads; payload may stand in for o.payload.
const rowColumns = `seq, id, lane, state, destination, ordering_key, keys, type, content_type, headers, not_before,
	created_at, publishing_since, published_at, relay, token, confirmed, refusals, unknowns, class, error, error_at`

func scanRow(from scanner) (store.Row, error) {
	var r store.Row
	var keys string
	var headers sql.NullString
	var notBefore, since, published, failed sql.NullInt64
	var created int64
	err := from.Scan(&r.Seq, &r.ID, &r.Lane, &r.State, &r.Destination, &r.OrderingKey, &keys, &r.Type, &r.ContentType, &headers, &notBefore,
		&created, &since, &published, &r.Relay, &r.Token, &r.Confirmed, &r.Refusals, &r.Unknowns, &r.Class, &r.Error, &failed, &r.Payload)
	if err != nil {
		return r, err
	}
	r.Keys, r.Headers = textsOf(keys), headersOf(headers.String)
	r.CreatedAt, r.NotBefore = timeOf(sql.NullInt64{Int64: created, Valid: true}), timeOf(notBefore)
	r.PublishingSince, r.PublishedAt, r.ErrorAt = timeOf(since), timeOf(published), timeOf(failed)
	return r, nil
}

// timeOf is a moment of the tables.
func timeOf(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micros.Int64).UTC()
}

// microsOf is a moment for the tables; none is null.
func microsOf(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// headersOf reads a JSON object of text. Somebody may have written other values
// by hand: they are taken as their JSON, since a row that cannot be read would
// stop its lane.
func headersOf(object string) map[string]string {
	values := map[string]json.RawMessage{}
	if object == "" || json.Unmarshal([]byte(object), &values) != nil || len(values) == 0 {
		return nil
	}
	headers := make(map[string]string, len(values))
	for name, value := range values {
		headers[name] = textOf(value)
	}
	return headers
}

// textsOf reads a JSON array of text, in the same manner.
func textsOf(array string) []string {
	var values []json.RawMessage
	if json.Unmarshal([]byte(array), &values) != nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = textOf(value)
	}
	return texts
}

func textOf(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && !bytes.Equal(value, []byte("null")) {
		return s
	}
	return string(value)
}

// jsonOf is a value as one parameter of a statement, which takes it apart with
// json_each: so a statement has any number of rows. Only values that JSON can
// carry are given to it.
func jsonOf(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("sqlite: " + err.Error()) // a value of ours that is no JSON
	}
	return b.String()
}
