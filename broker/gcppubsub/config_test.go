package gcppubsub

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestOpen_checks_the_config_whole(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{
		Endpoint: "a:1", Emulator: "b:2", Mode: "push", Namespace: "9", CallTimeout: time.Hour, MaxLease: time.Millisecond, Retention: time.Minute,
	})
	if !errors.Is(err, broker.ErrConfig) {
		t.Fatalf("the error is %v", err)
	}
	for _, field := range []string{"Project", "Endpoint", "Mode", "Namespace", "CallTimeout", "MaxLease", "Retention"} {
		if n := strings.Count(err.Error(), "gcppubsub: Config."+field+" "); n != 1 {
			t.Errorf("Config.%s is named %d times in\n%v", field, n, err)
		}
	}
}

func TestOpen_connects_nothing(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{Project: "p", Emulator: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), broker.Subscription{Queue: "orders", Hold: time.Minute}); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("nobody listens there, and the error is %v", err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}
