package jetstream

import (
	"errors"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"2.12.0": true, "2.15.2": true, "2.12.0-RC.1": true, "3.0.0": true, "10.1.0": true, "": true, "dev": true,
		"2.11.9": false, "2.9.25": false, "1.4.1": false, "2.2": false,
	} {
		err := checkVersion(version)
		if (err == nil) != ok || err != nil && !errors.Is(err, broker.ErrUnsupported) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestOldServerIsRefused: a server that cannot schedule is told at once.
func TestOldServerIsRefused(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{InProcess: &fake{info: `"version":"2.10.22"`}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Open(t.Context(), broker.Subscription{Queue: "ORDERS/billing"})
	wantErr(t, err, broker.ErrUnsupported, "this is NATS 2.10.22", "2.12 or later")
	if !broker.Permanent(err) {
		t.Error("it is not permanent")
	}
}
