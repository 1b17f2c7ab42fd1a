package outbox

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/store"
)

type placed struct {
	Order string  `json:"order"`
	Sum   float64 `json:"sum"`
	Odd   any     `json:"odd,omitempty"`
}

func TestDefine(t *testing.T) {
	e := MustDefine[placed]("orders.placed", 2, AlsoKeys("orders.placed.v1", "placed"))
	want := Manifest{
		Event: "orders.placed.v2", Exchange: "orders", Keys: []string{"orders.placed.v2", "orders.placed.v1", "placed"},
		Bindings: []Binding{{Exchange: "orders", Key: "orders.placed.v2", Queue: "billing.orders.placed.v2"}},
	}
	if got := e.Manifest("billing"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	m, err := e.Message(placed{Order: "7"}, InOrderOf("7"), WithHeader("tenant", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Destination != "orders" || m.Key != "orders.placed.v2" || len(m.AlsoKeys) != 2 || m.Type != "orders.placed.v2" ||
		m.ContentType != "application/json" || m.OrderingKey != "7" || m.Headers["tenant"] != "x" || string(m.Payload) != `{"order":"7","sum":0}` {
		t.Errorf("message %+v", m)
	}
}

func TestDefine_refuses(t *testing.T) {
	tests := map[string]struct {
		eventType string
		version   int
		option    EventOption
		want      string
	}{
		"a key of another version":  {"orders.placed", 2, WithKey("orders.placed.v1"), `the key "orders.placed.v1" is of version 1: it ends in ".v2"`},
		"a key of a longer version": {"orders.placed", 1, WithKey("orders.placed.v11"), `is of version 11`},
		"a key without a version":   {"orders.placed", 2, WithKey("orders.placed"), `names no version`},
		"a key with a wildcard":     {"orders.placed", 2, WithKey("orders.*.v2"), `must be letters`},
		"a key that is there twice": {"orders.placed", 2, AlsoKeys("orders.placed.v2"), `is there twice`},
		"a type with its version":   {"orders.placed.v2", 2, nil, `the version is given beside it`},
		"a type of one word":        {"placed", 2, nil, `two at least`},
		"a type in capitals":        {"Orders.Placed", 2, nil, `lower-case`},
		"no version":                {"orders.placed", 0, nil, `the version is 0: from 1 to 9999`},
		"a type that is too long":   {"orders." + strings.Repeat("x", 200), 1, nil, `at most 180`},
		"no codec":                  {"orders.placed", 1, WithCodec(Codec{}), `both Encode and Decode`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var options []EventOption
			if test.option != nil {
				options = append(options, test.option)
			}
			_, err := Define[placed](test.eventType, test.version, options...)
			if !errors.Is(err, ErrDefinition) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestEvent_Add_refuses_what_cannot_be_encoded(t *testing.T) {
	rows := newMemStore()
	err := MustDefine[placed]("orders.placed", 1).Add(t.Context(), rows, placed{Odd: func() {}})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "orders.placed.v1 cannot be encoded") || len(rows.rows) != 0 {
		t.Errorf("error %v, %d rows", err, len(rows.rows))
	}
}

func TestEvent_Handler(t *testing.T) {
	e := MustDefine[placed]("orders.placed", 1)
	var got placed
	h := e.Handler(func(_ context.Context, p placed, _ *holdfast.Message) error { got = p; return nil })
	if err := h(t.Context(), &holdfast.Message{Type: "orders.placed.v1", Body: []byte(`{"order":"7"}`)}); err != nil || got.Order != "7" {
		t.Errorf("got %+v, %v", got, err)
	}
	type verdict interface {
		HoldfastVerdict() (string, time.Duration)
	}
	var v verdict
	for _, other := range []string{"orders.placed.v2", "orders.paid.v1", ""} {
		err := h(t.Context(), &holdfast.Message{Type: other, Body: []byte(`{"order":"7"}`)})
		if kind := ""; !errors.As(err, &v) {
			t.Errorf("type %q: %v", other, err)
		} else if kind, _ = v.HoldfastVerdict(); kind != "park" {
			t.Errorf("type %q: verdict %q", other, kind)
		}
	}
	err := h(t.Context(), &holdfast.Message{Type: "orders.placed.v1", Body: []byte(`{"order":`)})
	var reason interface{ HoldfastReason() string }
	if !errors.As(err, &reason) || reason.HoldfastReason() != "malformed" {
		t.Errorf("a body that is cut: %v", err)
	}
}

func TestAdd_refuses_the_whole(t *testing.T) {
	good := Message{Destination: "orders", Key: "k"}
	long := strings.Repeat("x", 256)
	tests := map[string]struct {
		bad  Message
		want string
	}{
		"an id that is none":       {Message{ID: "17", Key: "k"}, `ID is "17": it must be a UUID`},
		"nowhere to go":            {Message{}, "Destination and Key are both empty"},
		"a long destination":       {Message{Destination: long}, "Destination has 256 bytes: at most 255"},
		"a long key":               {Message{Key: long}, "Key has 256 bytes: at most 255"},
		"a long further key":       {Message{Key: "k", AlsoKeys: []string{long}}, "AlsoKeys[0] has 256 bytes"},
		"the same key again":       {Message{Key: "k", AlsoKeys: []string{"k"}}, `AlsoKeys[0] is "k", which is there already`},
		"too many keys":            {Message{Key: "k", AlsoKeys: make([]string, store.MaxKeys)}, "at most 16"},
		"a long ordering key":      {Message{Key: "k", OrderingKey: long}, "OrderingKey has 256 bytes"},
		"a zero byte":              {Message{Key: "k", OrderingKey: "a\x00"}, "without a zero byte"},
		"no UTF-8":                 {Message{Key: "k", Type: "\xff"}, "it must be UTF-8"},
		"a header that is taken":   {Message{Key: "k", Headers: map[string]string{"X-Holdfast-Id": "1"}}, "are taken"},
		"a header without a name":  {Message{Key: "k", Headers: map[string]string{"": "1"}}, "without a name"},
		"headers that are too big": {Message{Key: "k", Headers: map[string]string{"a": strings.Repeat("x", maxHeaders)}}, "Headers have 32769 bytes: at most 32768"},
		"a payload that is":        {Message{Key: "k", Payload: make([]byte, maxPayload+1)}, "Payload has 16777217 bytes: at most 16777216"},
		"a strange time":           {Message{Key: "k", NotBefore: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}, "NotBefore is in the year 12026"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rows := newMemStore()
			err := Add(t.Context(), rows, good, test.bad, good)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "message 2 of 3: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if len(rows.rows) != 0 {
				t.Error("the others were written")
			}
		})
	}
}

func TestAdd(t *testing.T) {
	rows := newMemStore()
	if err := Add(t.Context(), rows); err != nil {
		t.Error(err)
	}
	if err := Add(t.Context(), rows, Message{Key: "k", OrderingKey: "a"}, Message{Key: "k", OrderingKey: "a"}, Message{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	a, b := rows.row(0), rows.row(1)
	if a.Lane != b.Lane || a.Lane != laneOf("a", "") || a.ID == b.ID || !store.IsID(a.ID) || a.ID[14] != '7' {
		t.Errorf("rows %+v and %+v", a.Entry, b.Entry)
	}
}

// TestLaneOf: rows that are in a database rely on these numbers.
func TestLaneOf(t *testing.T) {
	for key, want := range map[string]int{"a": 44, "order-1": laneOf("order-1", "other"), "zoë": laneOf("zoë", "")} {
		if got := laneOf(key, "x"); got != want {
			t.Errorf("lane of %q is %d, want %d", key, got, want)
		}
	}
	seen := map[int]bool{}
	for range 2000 {
		seen[laneOf("", newID(time.Now()))] = true
	}
	if len(seen) != store.Lanes {
		t.Errorf("2,000 rows without a key lie in %d lanes", len(seen))
	}
}

func TestNewID(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	id := newID(at)
	if !strings.HasPrefix(id, "019b7ca9-8c8e-7") || !store.IsID(id) || strings.IndexByte("89ab", id[19]) < 0 || id == newID(at) {
		t.Errorf("id %s", id)
	}
}
