// Package chaos breaks brokers, connections and processes in the middle of
// work and counts the messages afterwards.
package chaos

import (
	"os"
	"testing"
)

// TestMain makes the test binary its own consumer process, so that a message
// can kill a whole process and not a goroutine.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(work())
	}
	os.Exit(m.Run())
}
