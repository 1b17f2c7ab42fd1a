package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestPolicyPresets(t *testing.T) {
	t.Parallel()
	if got, want := EventPolicy().Ladder, []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 90 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("event ladder %v, want %v", got, want)
	}
	if got, want := RequestPolicy().Ladder, []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("request ladder %v, want %v", got, want)
	}
	p := EventPolicy()
	p.Ladder[0] = time.Hour
	if EventPolicy().Ladder[0] != time.Second {
		t.Error("a change of one preset reached another")
	}
	if got := (Policy{}).Attempts(); got != 5 {
		t.Errorf("the zero policy has %d attempts, want 5", got)
	}
	if got := (Policy{Ladder: []time.Duration{}}).Attempts(); got != 1 {
		t.Errorf("an empty ladder has %d attempts, want 1", got)
	}
}

func TestPolicyNamesEveryBadField(t *testing.T) {
	t.Parallel()
	p := Policy{
		Ladder: []time.Duration{0, 25 * time.Hour, time.Millisecond + 1}, Tries: 11, Hold: 25 * time.Hour,
		Laps: 101, Crashes: -1, Exhausted: "explode", Timeout: -1,
	}.withDefaults()
	err := p.validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"Ladder[0] must be 1ms to 24h0m0s, not 0s", "Ladder[1] must be", "Ladder[2] must be a whole number of milliseconds",
		"Tries must be 1 to 10, not 11", "Hold must be 1s to 24h0m0s, not 25h0m0s", "Laps must be 1 to 100, not 101",
		"Crashes must be 1 to 100, not -1", `Exhausted must be "park" or "hold", not explode`, "Timeout must be",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// foreign is a verdict as another copy of this module would make it.
type foreign struct{ kind string }

func (f foreign) Error() string                            { return "foreign" }
func (f foreign) HoldfastVerdict() (string, time.Duration) { return f.kind, time.Minute }

func TestVerdictOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such order")
	tests := []struct {
		name  string
		err   error
		kind  verdictKind
		after time.Duration
	}{
		{"nil", nil, kindNone, 0},
		{"plain", cause, kindNone, 0},
		{"retry", Retry(cause), kindRetry, 0},
		{"retry after", RetryAfter(cause, time.Second), kindRetry, time.Second},
		{"retry after, negative", RetryAfter(cause, -time.Second), kindRetry, 0},
		{"retry after, absurd", RetryAfter(cause, 1<<62), kindRetry, maxHold},
		{"hold", Hold(cause), kindHold, 0},
		{"park", Park(cause), kindPark, 0},
		{"discard", Discard(cause), kindDiscard, 0},
		{"wrapped", fmt.Errorf("charge: %w", Park(cause)), kindPark, 0},
		{"joined", errors.Join(cause, Hold(cause)), kindHold, 0},
		{"outermost wins", Retry(Park(cause)), kindRetry, 0},
		{"of another copy", fmt.Errorf("x: %w", foreign{"hold"}), kindHold, time.Minute},
		{"unknown kind", foreign{"explode"}, kindNone, 0},
		{"park of nothing", Park(nil), kindPark, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, after := verdictOf(tt.err)
			if kind != tt.kind || after != tt.after {
				t.Errorf("got %q after %v, want %q after %v", kind, after, tt.kind, tt.after)
			}
		})
	}
	if !errors.Is(Park(cause), cause) || Park(cause).Error() != cause.Error() {
		t.Error("a verdict hides its cause")
	}
	if Park(nil).Error() == "" {
		t.Error("a verdict without a cause has no text")
	}
}

func TestJSONParksWhatItCannotDecode(t *testing.T) {
	t.Parallel()
	called := false
	h := JSON(func(_ context.Context, body struct{ ID int }, _ *Message) error {
		called = body.ID == 7
		return nil
	})
	if err := h(context.Background(), &Message{Body: []byte(`{"ID":7}`)}); err != nil || !called {
		t.Errorf("a good body: %v, called %v", err, called)
	}
	err := h(context.Background(), &Message{Body: []byte(`{"ID":`)})
	if kind, _ := verdictOf(err); kind != kindPark {
		t.Errorf("a bad body is %q, want park", kind)
	}
	r := (&stint{engine: &engine{}}).ruling(fmt.Errorf("wrapped: %w", err), false)
	if !r.malformed {
		t.Error("a bad body is not malformed")
	}
}

func TestBackoffDoublesToItsLimit(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		if got := ceilingAfter(n, firstWait, longWait); got != want*time.Millisecond {
			t.Errorf("after %d failures the ceiling is %v, want %v", n, got, want*time.Millisecond)
		}
	}
	if got := ceilingAfter(1000, firstWait, longWait); got != longWait {
		t.Errorf("after 1000 failures the ceiling is %v", got)
	}
}

// extremes returns the longest and the shortest of many waits.
func extremes(wait func() time.Duration) (longest, shortest time.Duration) {
	shortest = time.Hour
	for range 2000 {
		d := wait()
		longest, shortest = max(longest, d), min(shortest, d)
	}
	return longest, shortest
}

func TestBackoffWhenNothingOpens(t *testing.T) {
	t.Parallel()
	for err, limit := range map[error]time.Duration{broker.ErrUnreachable: portWait, broker.ErrCredentials: longWait} {
		b := backoff{refused: 20}
		longest, _ := extremes(func() time.Duration { return b.notOpened(err) })
		if longest > limit || longest < limit*9/10 {
			t.Errorf("%v is waited for up to %v, want %v", err, longest, limit)
		}
	}
	longest, _ := extremes(func() time.Duration { return (&backoff{}).notOpened(broker.ErrUnreachable) })
	if longest > firstWait {
		t.Errorf("the first wait is up to %v", longest)
	}
}

func TestBackoffWhenSessionsDoNotLast(t *testing.T) {
	t.Parallel()
	down := func(b backoff, err error, lasted time.Duration) (longest, shortest time.Duration) {
		return extremes(func() time.Duration { again := b; return again.ended(err, lasted) })
	}
	if longest, shortest := down(backoff{short: 20}, broker.ErrUnreachable, time.Second); longest < longWait*9/10 || shortest < flapWait {
		t.Errorf("a flapping session waits %v to %v", shortest, longest)
	}
	if longest, _ := down(backoff{short: 20}, broker.ErrUnreachable, healthyAfter); longest > firstWait {
		t.Errorf("after a healthy session the wait is up to %v", longest)
	}
	if longest, _ := down(backoff{short: 20}, broker.ErrUnknown, healthyAfter); longest < longWait*9/10 {
		t.Errorf("a settlement that failed again waits only up to %v", longest)
	}
	if longest, _ := down(backoff{refused: 20}, broker.ErrUnreachable, time.Second); longest > firstWait {
		t.Errorf("after a long outage the first loss waits up to %v", longest)
	}
}
