package inbox_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

type table map[string]any // as drivers have types of their own

func setAside(t *testing.T, m *holdfast.Message) store.Aside {
	t.Helper()
	db := newTables()
	if err := inbox.SetAside(t.Context(), &tx{tables: db}, consumer, m, "invalid_state", "not final yet"); err != nil {
		t.Fatal(err)
	}
	return db.asides[0]
}

func TestSetAside_keeps_the_message(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC)
	m := &holdfast.Message{
		Body: []byte("\x00\xff{"), ID: "m1", CorrelationID: "c1", ReplyTo: "caller", ContentType: "application/json",
		ContentEncoding: "gzip", Type: "invoice.sent", AppID: "shop", Timestamp: at,
		Origin: holdfast.Origin{Exchange: "shop", Key: "invoice.sent.v1", Queue: "billing.invoices"},
		Headers: map[string]any{
			"text": "ä", "raw": []byte{0, 1}, "latin": "caf\xe9", "nul": "a\x00b", "none": nil, "yes": true,
			"int": int32(-7), "big": int64(math.MaxInt64), "byte": uint8(3), "half": 0.5, "whole": float32(2), "nan": math.Inf(1),
			"at": at, "table": table{"n": int16(1), "deep": []any{"x", table{"y": []byte("z")}}}, "strings": []string{"a"},
			broker.HeaderVersion: 1, broker.HeaderAttempt: 4, broker.HeaderReplayID: "r", "rejectionReason": "Brighter's",
		},
	}
	a := setAside(t, m)
	for name := range m.Headers {
		if broker.FailureField(name) && strings.Contains(string(a.Headers), name) {
			t.Errorf("%s was not stripped from %s", name, a.Headers)
		}
	}
	if a.Consumer != consumer || a.Reason != "invalid_state" || a.Note != "not final yet" || a.Queue != "billing.invoices" || len(a.ID) != 36 {
		t.Errorf("row %+v", a)
	}
	got, err := inbox.Restore(a)
	if err != nil {
		t.Fatal(err)
	}
	want := *m
	want.Headers = map[string]any{
		"text": "ä", "raw": []byte{0, 1}, "latin": "caf\xe9", "nul": "a\x00b", "none": nil, "yes": true,
		"int": int32(-7), "big": int64(math.MaxInt64), "byte": uint8(3), "half": 0.5, "whole": float32(2), "nan": math.Inf(1),
		"at": at, "table": map[string]any{"n": int16(1), "deep": []any{"x", map[string]any{"y": []byte("z")}}}, "strings": []any{"a"},
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("restored\n%+v, want\n%+v", *got, want)
	}
}

func TestSetAside_of_a_message_with_nothing(t *testing.T) {
	a := setAside(t, &holdfast.Message{})
	if string(a.Headers) != "{}" || a.MessageID != "" {
		t.Errorf("row %+v", a)
	}
	if m, err := inbox.Restore(a); err != nil || len(m.Headers) != 0 || len(m.Body) != 0 {
		t.Errorf("restored %+v, %v", m, err)
	}
	if b := setAside(t, &holdfast.Message{}); b.ID == a.ID {
		t.Error("ids repeat")
	}
}

func TestSetAside_takes_text_that_a_database_refuses(t *testing.T) {
	a := setAside(t, &holdfast.Message{ID: "a\x00", Type: "b\xff"})
	if a.MessageID != "a\uFFFD" || a.Type != "b\uFFFD" {
		t.Errorf("row %+v", a)
	}
}

func TestSetAside_refuses(t *testing.T) {
	x := &tx{tables: newTables()}
	m := &holdfast.Message{ID: "1"}
	for want, err := range map[string]error{
		"reason must not be empty":     inbox.SetAside(t.Context(), x, consumer, m, "", ""),
		"reason must have at most 100": inbox.SetAside(t.Context(), x, consumer, m, strings.Repeat("r", 101), ""),
		"consumer must not be empty":   inbox.SetAside(t.Context(), x, "", m, "r", ""),
		"m must not be nil":            inbox.SetAside(t.Context(), x, consumer, nil, "r", ""),
		"tx must not be nil":           inbox.SetAside(t.Context(), nil, consumer, m, "r", ""),
	} {
		if !errors.Is(err, store.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	x.down = store.ErrFull
	if err := inbox.SetAside(t.Context(), x, consumer, m, "r", ""); !errors.Is(err, store.ErrFull) {
		t.Errorf("got %v", err)
	}
}

func TestRestore_of_what_is_no_object(t *testing.T) {
	for _, headers := range []string{"[1]", "{", `"x"`} {
		if _, err := inbox.Restore(store.Aside{ID: "row-1", Headers: []byte(headers)}); err == nil || !strings.Contains(err.Error(), "row-1") {
			t.Errorf("%s: %v", headers, err)
		}
	}
}
