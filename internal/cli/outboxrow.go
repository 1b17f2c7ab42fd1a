package cli

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/store"
)

// rowLine is a row as --output json shows it.
type rowLine struct {
	Type            string            `json:"type"` // always "row"
	ID              string            `json:"id"`
	Seq             int64             `json:"seq"`
	Lane            int               `json:"lane"`
	State           store.State       `json:"state"`
	Destination     string            `json:"destination"`
	Keys            []string          `json:"keys"`
	Confirmed       []string          `json:"confirmed,omitempty"`
	OrderingKey     string            `json:"ordering_key,omitempty"`
	Event           string            `json:"event,omitempty"`
	ContentType     string            `json:"content_type,omitempty"`
	Headers         map[string]string `json:"headers,omitempty"`
	CreatedAt       time.Time         `json:"created_at"`
	NotBefore       *time.Time        `json:"not_before,omitempty"`
	PublishingSince *time.Time        `json:"publishing_since,omitempty"`
	PublishedAt     *time.Time        `json:"published_at,omitempty"`
	Relay           string            `json:"relay,omitempty"`
	Refusals        int               `json:"refusals,omitempty"`
	Unknowns        int               `json:"unknowns,omitempty"`
	Class           store.Class       `json:"class,omitempty"`
	Error           string            `json:"error,omitempty"`
	ErrorAt         *time.Time        `json:"error_at,omitempty"`
	Payload         []byte            `json:"payload,omitempty"`
	PayloadText     string            `json:"payload_text,omitempty"`
}

func newRowLine(w store.Row) rowLine {
	line := rowLine{
		Type: "row", ID: w.ID, Seq: w.Seq, Lane: w.Lane, State: w.State, Destination: w.Destination, Keys: w.Keys,
		Confirmed: confirmed(w), OrderingKey: w.OrderingKey, Event: w.Type, ContentType: w.ContentType, Headers: w.Headers,
		CreatedAt: w.CreatedAt.UTC(), NotBefore: optional(w.NotBefore), PublishingSince: optional(w.PublishingSince),
		PublishedAt: optional(w.PublishedAt), Relay: w.Relay, Refusals: w.Refusals, Unknowns: w.Unknowns,
		Class: w.Class, Error: w.Error, ErrorAt: optional(w.ErrorAt), Payload: w.Payload,
	}
	if utf8.Valid(w.Payload) {
		line.PayloadText = string(w.Payload)
	}
	return line
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// confirmed are the keys under which a row that is not published yet was
// published already.
func confirmed(w store.Row) []string {
	var keys []string
	for mask := w.Confirmed; mask != 0; mask &= mask - 1 {
		if i := bits.TrailingZeros32(mask); i < len(w.Keys) {
			keys = append(keys, w.Keys[i])
		}
	}
	return keys
}

// showRows prints rows in the form that was asked.
func (r *root) showRows(rows []store.Row) error {
	t := table{heads: []string{"ID", "STATE", "DESTINATION", "KEY", "AGE", "CLASS", "ERROR"}, elastic: []int{2, 3}}
	for _, w := range rows {
		if r.json() {
			if err := r.emit(newRowLine(w)); err != nil {
				return err
			}
			continue
		}
		t.add(printable(w.ID), printable(string(w.State)), printable(orDash(w.Destination)), printable(strings.Join(w.Keys, " ")),
			age(w.CreatedAt, r.Now()), printable(orDash(string(w.Class))), firstLine(w.Error))
	}
	if len(t.rows) == 0 {
		return nil
	}
	return r.tabulate(&t)
}

// showRow prints everything of one row.
func (r *root) showRow(w store.Row) error {
	if r.json() {
		return r.emit(newRowLine(w))
	}
	v := view{w: r.Stdout}
	fmt.Fprintln(v.w, r.heading(printable(fmt.Sprintf("%s %s", w.ID, w.State))))
	v.field("destination", orText(w.Destination, "(the broker's default)"))
	v.field("keys", strings.Join(w.Keys, ", "))
	v.field("confirmed", strings.Join(confirmed(w), ", "))
	v.field("ordering key", w.OrderingKey)
	v.field("event", w.Type)
	v.when(r, "written", w.CreatedAt)
	v.when(r, "not before", w.NotBefore)
	v.when(r, "claimed", w.PublishingSince)
	v.when(r, "published", w.PublishedAt)
	v.field("relay", w.Relay)
	v.field("place", fmt.Sprintf("lane %d, number %d", w.Lane, w.Seq))
	if w.Refusals > 0 {
		v.field("refused", count(w.Refusals, "time"))
	}
	if w.Unknowns > 0 {
		v.field("unknown", count(w.Unknowns, "time")+": each may have been delivered")
	}
	v.field("failure", string(w.Class))
	v.lines("error", w.Error)
	v.when(r, "failed", w.ErrorAt)
	if len(w.Headers) > 0 {
		fmt.Fprintln(v.w, "  headers")
		for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
			fmt.Fprintf(v.w, "    %s: %s\n", printable(name), printable(w.Headers[name]))
		}
	}
	v.field("payload", strings.TrimSuffix(strconv.Itoa(len(w.Payload))+" bytes, "+w.ContentType, ", "))
	fmt.Fprint(v.w, printableBody(w.Payload, "    "))
	return nil
}

func (v *view) when(r *root, name string, t time.Time) {
	if !t.IsZero() {
		v.field(name, fmt.Sprintf("%s (%s ago)", stamp(t), age(t, r.Now())))
	}
}
