package outbox_test

import (
	"os"
	"testing"
)

// TestMain makes the test binary its own relay process, so that a test can
// kill or freeze a whole process and not a goroutine.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(work())
	}
	os.Exit(m.Run())
}
