package rabbitmq

import (
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// A message that claims to have failed in the future must not keep the hold
// from ending for those behind it.
func TestLeftOfAHold(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	r := &replayer{hold: 10 * time.Minute}
	failed := func(at time.Duration) *broker.Capture { return &broker.Capture{FailedAt: now.Add(at)} }
	for name, c := range map[string]struct {
		capture *broker.Capture
		want    time.Duration
	}{
		"no capture":                 {nil, 0},
		"no time":                    {&broker.Capture{}, 0},
		"just now":                   {failed(0), 10 * time.Minute},
		"a while ago":                {failed(-4 * time.Minute), 6 * time.Minute},
		"another host's clock":       {failed(time.Minute), 11 * time.Minute},
		"the future":                 {failed(time.Minute + 1), 0},
		"the far future":             {failed(200 * 365 * 24 * time.Hour), 0},
		"over":                       {failed(-11 * time.Minute), -time.Minute},
		"before anybody kept a time": {&broker.Capture{FailedAt: time.Time{}.Add(1)}, time.Duration(-1 << 63)},
	} {
		if got := r.left(c.capture, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
