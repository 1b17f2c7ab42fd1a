package telemetry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a database that answers after a time.
type slowly struct {
	takes time.Duration
	asked int
}

func (s *slowly) ask(ctx context.Context) (int, error) {
	s.asked++
	select {
	case <-time.After(s.takes):
		return s.asked, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// TestKept_waits_a_little: a slow database is told as it was, and a collection
// is not late for it.
func TestKept_waits_a_little(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &slowly{takes: 3 * time.Second}
		k := &kept[int]{ask: db.ask, under: newUnderway()}
		defer k.under.end()
		get := func(want int, err error, wait time.Duration) {
			t.Helper()
			began := time.Now()
			got, gotErr := k.get(t.Context(), 15*time.Second)
			if got != want || !errors.Is(gotErr, err) || time.Since(began) != wait {
				t.Errorf("%d, %v after %v; want %d, %v after %v", got, gotErr, time.Since(began), want, err, wait)
			}
		}
		get(0, errSlow, patience)
		get(0, errSlow, patience)
		time.Sleep(3 * time.Second)
		get(1, nil, 0)
		time.Sleep(20 * time.Second)
		get(1, nil, patience) // the answer of before, while the next is on its way
		time.Sleep(3 * time.Second)
		get(2, nil, 0)
		if db.asked != 2 {
			t.Errorf("it was asked %d times", db.asked)
		}
		db.takes = time.Hour
		time.Sleep(20 * time.Second)
		get(2, nil, patience)
		time.Sleep(askTimeout)
		get(0, context.DeadlineExceeded, 0) // it hung, and that is an answer
	})
}

// TestKept_forgets_what_is_too_old where nobody collected for long and the
// database hangs now.
func TestKept_forgets_what_is_too_old(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &slowly{}
		k := &kept[int]{ask: db.ask, under: newUnderway()}
		defer k.under.end()
		if _, err := k.get(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		db.takes = time.Hour
		time.Sleep(oldest)
		if _, err := k.get(t.Context(), time.Second); !errors.Is(err, errSlow) {
			t.Errorf("%v", err)
		}
	})
}

// TestKept_ends_with_its_telemetry: what is asked is cut off, and nothing is
// asked afterwards.
func TestKept_ends_with_its_telemetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &slowly{takes: time.Hour}
		k := &kept[int]{ask: db.ask, under: newUnderway()}
		_, _ = k.get(t.Context(), time.Second)
		began := time.Now()
		k.under.end()
		if time.Since(began) > 0 {
			t.Errorf("the end waited %v", time.Since(began))
		}
		time.Sleep(time.Minute)
		if _, err := k.get(t.Context(), time.Second); !errors.Is(err, context.Canceled) || db.asked != 1 {
			t.Errorf("asked %d times: %v", db.asked, err)
		}
	})
}
