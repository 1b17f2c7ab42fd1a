package inbox_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

const week = 7 * 24 * time.Hour

func parked(at time.Time, found bool, err error) inbox.Retention {
	return inbox.Retention{Keep: week, OldestParked: func(context.Context) (time.Time, bool, error) { return at, found, err }}
}

func TestPrune_keeps_what_a_replay_can_need(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			r    inbox.Retention
			want time.Duration
		}{
			"nothing is parked":                  {parked(time.Time{}, false, nil), week},
			"something is":                       {parked(time.Now().Add(-30*24*time.Hour), true, nil), week + 30*24*time.Hour},
			"something is, by a clock far ahead": {parked(time.Now().Add(time.Hour), true, nil), week},
		} {
			db := newTables()
			db.prune = func(limit int) int { return limit - len(db.pruned)/3 }
			n, err := inbox.Prune(t.Context(), db, consumer, c.r)
			if err != nil || n != 2999 || !reflect.DeepEqual(db.pruned, []time.Duration{c.want, c.want, c.want}) {
				t.Errorf("%s: %d, %v, ages %v, want %v", name, n, err, db.pruned, c.want)
			}
		}
	})
}

func TestPrune_removes_nothing_when_it_is_not_known_what_is_parked(t *testing.T) {
	db := newTables()
	down := errors.New("the broker is down")
	if _, err := inbox.Prune(t.Context(), db, consumer, parked(time.Time{}, false, down)); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	if _, err := inbox.Prune(t.Context(), db, consumer, parked(time.Time{}, true, nil)); err == nil {
		t.Error("something is parked since an unknown time, and it pruned")
	}
	if len(db.pruned) != 0 {
		t.Errorf("pruned %v", db.pruned)
	}
}

func TestPrune_returns_what_it_removed_with_an_error(t *testing.T) {
	db := newTables()
	db.down = store.ErrUnreachable
	if n, err := inbox.Prune(t.Context(), db, consumer, parked(time.Time{}, false, nil)); n != 1 || !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestPrune_refuses(t *testing.T) {
	never := parked(time.Time{}, false, nil).OldestParked
	for want, r := range map[string]inbox.Retention{
		"Retention.Keep must be 1s to 87600h0m0s, not 0s":     {OldestParked: never},
		"Retention.Keep must be 1s to 87600h0m0s, not -1s":    {Keep: -time.Second, OldestParked: never},
		"Retention.Keep must be 1s to 87600h0m0s, not 90000h": {Keep: 90000 * time.Hour, OldestParked: never},
		"Retention.OldestParked must not be nil":              {Keep: week},
	} {
		if _, err := inbox.Prune(t.Context(), newTables(), consumer, r); !errors.Is(err, store.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := inbox.Prune(t.Context(), nil, "", inbox.Retention{Keep: week, OldestParked: never}); err == nil ||
		!strings.Contains(err.Error(), "in must not be nil") || !strings.Contains(err.Error(), "consumer must not be empty") {
		t.Errorf("got %v", err)
	}
}
