package storetest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var contentCases = []testCase{
	{name: "every_field_comes_back", run: everyField},
	{name: "the_plainest_entry_comes_back", run: plainest},
	{name: "an_empty_payload_comes_back", run: func(sc *scene) { payloadReturns(sc, []byte{}) }},
	{name: "a_binary_payload_comes_back", run: func(sc *scene) { payloadReturns(sc, everyByte()) }},
	{name: "a_payload_of_1_MiB_comes_back", run: func(sc *scene) { payloadReturns(sc, bytes.Repeat(everyByte(), 4096)) }},
	{name: "unicode_and_quotes_come_back", run: unicode},
	{name: "times_are_UTC", run: timesAreUTC},
}

func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// fullEntry has every field.
func fullEntry() store.Entry {
	e := keyed(9, "customer-7")
	e.Keys = []string{"order.placed.v2", "order.placed.v1", "order.placed"}
	e.Headers = map[string]string{"traceparent": "00-ab-cd-01", "empty": ""}
	e.NotBefore = time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	return e
}

func everyField(sc *scene) {
	e := fullEntry()
	sc.add(e)
	sameEntry(sc, "the row", sc.row(e.ID).Entry, e)
	r := sc.holder(e.Lane)
	sameEntry(sc, "the claimed row", r.claim(e.Lane)[0].Entry, e)
	rows, err := sc.s.List(sc.ctx(), store.Filter{})
	sc.must(err)
	e.Payload = nil
	sameEntry(sc, "the listed row, without a payload", rows[0].Entry, e)
}

func sameEntry(sc *scene, what string, got, want store.Entry) {
	sc.Helper()
	if !bytes.Equal(got.Payload, want.Payload) {
		sc.Fatalf("%s: the payload differs: %d bytes, want %d", what, len(got.Payload), len(want.Payload))
	}
	if !maps.Equal(got.Headers, want.Headers) || !slices.Equal(got.Keys, want.Keys) || !got.NotBefore.Equal(want.NotBefore) {
		sc.Fatalf("%s: headers %q, keys %q, not before %v; want %q, %q, %v", what,
			got.Headers, got.Keys, got.NotBefore, want.Headers, want.Keys, want.NotBefore)
	}
	same(sc, what, scalars(got), scalars(want))
}

func scalars(e store.Entry) []string {
	return []string{e.ID, string(rune('a' + e.Lane)), e.Destination, e.OrderingKey, e.Type, e.ContentType}
}

// plainest has nothing that may be empty.
func plainest(sc *scene) {
	e := store.Entry{ID: newID(), Keys: []string{""}}
	sc.add(e)
	sameEntry(sc, "the row", sc.row(e.ID).Entry, e)
	equal(sc, "not before", sc.row(e.ID).NotBefore, time.Time{})
	sameEntry(sc, "the claimed row", sc.holder(0).claim(0)[0].Entry, e)
}

func payloadReturns(sc *scene, payload []byte) {
	e := newEntry(2)
	e.Payload = payload
	sc.add(e)
	sameEntry(sc, "the row", sc.row(e.ID).Entry, e)
	sameEntry(sc, "the claimed row", sc.holder(2).claim(2)[0].Entry, e)
}

func unicode(sc *scene) {
	const odd = `żółw 🐢 'quoted' "twice" \back\ {brace,comma} NULL %s $1 ?1 {{.}}` + "\n\t\x01\u2028"
	e := keyed(2, odd)
	e.Destination, e.Keys, e.Type, e.ContentType = odd, []string{odd, "", "a,b", "null"}, odd, odd
	e.Headers = map[string]string{odd: odd, "": "no name", "long": strings.Repeat("ß", 10_000)}
	sc.add(e)
	sameEntry(sc, "the row", sc.row(e.ID).Entry, e)
	sameEntry(sc, "the claimed row", sc.holder(2).claim(2)[0].Entry, e)
}

func timesAreUTC(sc *scene) {
	e := fullEntry()
	sc.add(e)
	r := sc.holder(e.Lane)
	r.failed(e.Lane, store.ClassUnrouted)
	row := sc.row(e.ID)
	for what, at := range map[string]time.Time{
		"created": row.CreatedAt, "not before": row.NotBefore, "publishing since": row.PublishingSince, "error at": row.ErrorAt,
	} {
		if at.IsZero() || at.Location() != time.UTC {
			sc.Errorf("%s is %v", what, at)
		}
	}
}
