package demo

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// told plays a story to its end in fake time.
func told(t *testing.T, s Stage, cfg Config) (Result, []string) {
	t.Helper()
	var sentences []string
	cfg.Told = func(s string) { sentences = append(sentences, s) }
	p, err := New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return r, sentences
}

func TestTheStoryEndsWellAtEveryPace(t *testing.T) {
	for name, pace := range map[string]Pace{"watched": Watched(), "unwatched": Unwatched()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, sentences := told(t, newMemStage(t), Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Pace: pace})
				t.Logf("%+v\n%q", r, sentences)
				if !r.OK() || r.Duplicates != 0 || r.Received != r.Done+r.Delayed+r.Held+r.Parked+r.Discarded {
					t.Errorf("%+v", r)
				}
				// Of each 20 orders one has no rate, one is malformed, and of
				// each 40 one is a test.
				if want := (fates{orders: 300, charged: 277, discarded: 8, parked: 15}); r.fates != want {
					t.Errorf("%+v, not %+v", r.fates, want)
				}
				if r.Replayed != 15 || r.Parked != 30 || r.Done != 277 || r.Discarded != 8 || r.Held == 0 || r.Delayed < 90 {
					t.Errorf("%+v", r)
				}
				for _, want := range []string{"300 orders come in", outage().opening, recovery().opening, replaying(15).opening} {
					if !slices.Contains(sentences, want) {
						t.Errorf("nobody was told %q: %q", want, sentences)
					}
				}
			})
		})
	}
}

// TestAStoryThatWasCutShortEndsTheSameWay cuts it short at many moments.
func TestAStoryThatWasCutShortEndsTheSameWay(t *testing.T) {
	for after := 100 * time.Millisecond; after < 5*time.Second; after += 300 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			s := newMemStage(t)
			cfg := Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Pace: Unwatched(), Orders: 120}
			p, err := New(s, cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			_, cut := p.Run(ctx)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			cfg.Orders = 0
			r, _ := told(t, s, cfg)
			if !r.OK() || r.Duplicates != 0 || r.fates.charged != 111 || r.fates.parked != 6 {
				t.Errorf("cut short after %v (%v): %+v", after, cut, r)
			}
		})
	}
}
