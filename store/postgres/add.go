package postgres

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

// The statement rings the bell for relays only when one of them waits for it:
// a notify in every transaction would make commits wait for each other. The
// server rings after the commit, and never after a rollback.
const addSQL = `
WITH entry (id, lane, destination, keys, ordering_key, type, content_type, headers, payload, not_before, place) AS (
	{entries}
), added AS (
	INSERT INTO {Outbox} (id, lane, destination, keys, ordering_key, type, content_type, headers, payload, not_before, scheduled)
	SELECT id::uuid, lane, destination, ARRAY(SELECT jsonb_array_elements_text(keys::jsonb)), ordering_key, type, content_type,
		nullif(headers, '')::jsonb, payload, nullif(not_before, '')::timestamptz,
		coalesce(nullif(not_before, '')::timestamptz > clock_timestamp(), false)
	FROM entry ORDER BY place
)
SELECT pg_notify('{Channel}', '') WHERE EXISTS (SELECT FROM {Relays} WHERE idle)`

// AddOutbox implements [store.OutboxTx]. The role needs INSERT on the outbox
// and nothing else.
func (t *Tx) AddOutbox(ctx context.Context, entries []store.Entry) error {
	n, err := t.layout.names()
	if err != nil {
		return err
	}
	for i := range entries {
		if err := entries[i].Validate(); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	err = t.conn.add(ctx, n.sql(addSQL), entries)
	if state(err) == codeUnique {
		return fmt.Errorf("%w: adding %d entries, the first of them %s: %w", store.ErrDuplicate, len(entries), entries[0].ID, err)
	}
	return classify("adding to the outbox", n.grants("INSERT ON {Outbox}"), err)
}

// add sends the entries as one array for each column, in a mode of pgx that
// asks the server nothing before: to prepare would be a second round trip.
func (c pgxTx) add(ctx context.Context, statement string, entries []store.Entry) error {
	const columns = 10
	text := make([][]string, columns)
	for i := range text {
		text[i] = make([]string, len(entries))
	}
	lanes, payloads := make([]int16, len(entries)), make([][]byte, len(entries))
	for i, e := range entries {
		lanes[i], payloads[i] = int16(e.Lane), append([]byte{}, e.Payload...)
		for column, value := range map[int]string{
			0: e.ID, 2: e.Destination, 3: keysText(e.Keys), 4: e.OrderingKey, 5: e.Type, 6: e.ContentType,
			7: headersText(e.Headers), 9: timeText(e.NotBefore),
		} {
			text[column][i] = value
		}
	}
	statement = strings.Replace(statement, "{entries}", `SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::text[],
		$6::text[], $7::text[], $8::text[], $9::bytea[], $10::text[]) WITH ORDINALITY`, 1)
	_, err := c.tx.Exec(ctx, statement, pgx.QueryExecModeExec,
		text[0], lanes, text[2], text[3], text[4], text[5], text[6], text[7], payloads, text[9])
	return err
}

// add writes the entries into the statement: a statement without parameters is
// one round trip with every driver, and lib/pq has no other way. All that is
// not plain is in base64, so that no setting of the connection and no character
// can make it anything but data.
func (c sqlTx) add(ctx context.Context, statement string, entries []store.Entry) error {
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = fmt.Sprintf("(%s, %d::smallint, %s, %s, %s, %s, %s, %s, %s, %s, %d)",
			literal(e.ID), e.Lane, literal(e.Destination), literal(keysText(e.Keys)), literal(e.OrderingKey), literal(e.Type),
			literal(e.ContentType), literal(headersText(e.Headers)), bytesLiteral(e.Payload), literal(timeText(e.NotBefore)), i)
	}
	_, err := c.tx.ExecContext(ctx, strings.Replace(statement, "{entries}", "VALUES "+strings.Join(rows, ", "), 1))
	return err
}

var plainText = regexp.MustCompile(`^[A-Za-z0-9._:/+ -]*$`)

func literal(s string) string {
	if plainText.MatchString(s) {
		return "'" + s + "'::text"
	}
	return "convert_from(" + bytesLiteral([]byte(s)) + ", 'UTF8')"
}

func bytesLiteral(b []byte) string {
	return "decode('" + base64.StdEncoding.EncodeToString(b) + "', 'base64')"
}

func keysText(keys []string) string {
	text, _ := json.Marshal(keys) // strings always can
	return string(text)
}

// headersText is empty for no headers, which are null in the table.
func headersText(headers map[string]string) string {
	if len(headers) == 0 {
		return ""
	}
	text, _ := json.Marshal(headers) // strings always can
	return string(text)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
