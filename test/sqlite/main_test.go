package sqlite

import (
	"os"
	"testing"
)

// TestMain makes the test binary its own second process.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}
