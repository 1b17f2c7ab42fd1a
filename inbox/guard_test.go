package inbox_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

const aggregate = "order-7"

func TestLatest(t *testing.T) {
	db := newTables()
	base := time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)
	for _, c := range []struct {
		name string
		at   time.Time
		want inbox.Order
	}{
		{"the first", base, inbox.InOrder},
		{"the same again", base, inbox.Stale},
		{"the same in another zone", base.In(time.FixedZone("", 3600)), inbox.Stale},
		{"newer by less than a database keeps", base.Add(999 * time.Nanosecond), inbox.Stale},
		{"newer", base.Add(time.Microsecond), inbox.InOrder},
		{"older", base.Add(-time.Hour), inbox.Stale},
	} {
		order, err := inbox.Latest(t.Context(), &tx{tables: db}, consumer, aggregate, c.at)
		if err != nil || order != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, order, err, c.want)
		}
	}
	m := db.marks[key{consumer, aggregate}]
	if m.Stale != 4 || !m.Time.Equal(base.Add(time.Microsecond)) {
		t.Errorf("mark %+v", m)
	}
	if order, err := inbox.Latest(t.Context(), &tx{tables: db}, consumer, "order-8", base); order != inbox.InOrder || err != nil {
		t.Errorf("another aggregate: %s, %v", order, err)
	}
}

func TestSequence(t *testing.T) {
	db := newTables()
	for _, c := range []struct {
		n    int64
		want inbox.Order
	}{
		{2, inbox.Gap}, {1, inbox.InOrder}, {1, inbox.Stale}, {2, inbox.InOrder}, {5, inbox.Gap}, {3, inbox.InOrder}, {2, inbox.Stale},
	} {
		if order, err := inbox.Sequence(t.Context(), &tx{tables: db}, consumer, aggregate, c.n); err != nil || order != c.want {
			t.Errorf("%d: %s, %v, want %s", c.n, order, err, c.want)
		}
	}
	if m := db.marks[key{consumer, aggregate}]; m != (store.Mark{Sequence: 3, Stale: 2, Gaps: 2}) {
		t.Errorf("mark %+v", m)
	}
}

func TestAdvance_goes_on_after_a_gap_and_never_back(t *testing.T) {
	db := newTables()
	x := &tx{tables: db}
	for _, n := range []int64{56, 3} {
		if err := inbox.Advance(t.Context(), x, consumer, aggregate, n); err != nil {
			t.Fatal(err)
		}
	}
	if order, err := inbox.Sequence(t.Context(), x, consumer, aggregate, 57); order != inbox.InOrder || err != nil {
		t.Errorf("%s, %v", order, err)
	}
}

func TestRewind_lets_in_what_was_kept_out(t *testing.T) {
	db := newTables()
	x := &tx{tables: db}
	now := time.Now()
	future, correction := now.Add(24*time.Hour), now
	_, _ = inbox.Latest(t.Context(), x, consumer, aggregate, future)
	if order, _ := inbox.Latest(t.Context(), x, consumer, aggregate, correction); order != inbox.Stale {
		t.Fatalf("%s", order)
	}
	if err := inbox.Rewind(t.Context(), x, consumer, aggregate, store.Mark{Time: future.Add(time.Hour), Sequence: 9}); err != nil {
		t.Fatal(err)
	}
	if m := db.marks[key{consumer, aggregate}]; !m.Time.Equal(future.Truncate(time.Microsecond)) || m.Sequence != 0 {
		t.Errorf("mark %+v: a rewind moved it on", m)
	}
	if err := inbox.Rewind(t.Context(), x, consumer, aggregate, store.Mark{Time: now.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if order, _ := inbox.Latest(t.Context(), x, consumer, aggregate, correction); order != inbox.InOrder {
		t.Errorf("%s", order)
	}
	if m := db.marks[key{consumer, aggregate}]; m.Stale != 1 || m.Sequence != 0 {
		t.Errorf("mark %+v: its counts stay", m)
	}
	if err := inbox.Rewind(t.Context(), x, consumer, "unknown", store.Mark{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown aggregate: %v", err)
	}
}

func TestGuards_refuse(t *testing.T) {
	x := &tx{tables: newTables()}
	_, noTime := inbox.Latest(t.Context(), x, consumer, aggregate, time.Time{})
	_, noAggregate := inbox.Latest(t.Context(), x, consumer, "", time.Now())
	_, noNumber := inbox.Sequence(t.Context(), x, consumer, aggregate, 0)
	_, noTx := inbox.Sequence(t.Context(), nil, consumer, aggregate, 1)
	for want, err := range map[string]error{
		"at must not be zero": noTime, "aggregate must not be empty": noAggregate, "n must be at least 1, not 0": noNumber,
		"tx must not be nil": noTx,
	} {
		if !errors.Is(err, store.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	x.down = store.ErrUnreachable
	if _, err := inbox.Sequence(t.Context(), x, consumer, aggregate, 1); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func TestGuards_are_visible_at_info(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(was)
	x := &tx{tables: newTables()}
	for _, n := range []int64{1, 1, 3} {
		_, _ = inbox.Sequence(t.Context(), x, consumer, aggregate, n)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 ||
		!strings.Contains(got, "level=INFO") || !strings.Contains(got, "order=stale event_sequence=1 last_sequence=1") ||
		!strings.Contains(got, "consumer=billing aggregate=order-7 order=gap event_sequence=3 last_sequence=1") {
		t.Errorf("log:\n%s", got)
	}
}
