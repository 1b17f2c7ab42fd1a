package inbox

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test binary its own second process, which can be killed.
func TestMain(m *testing.M) {
	told := os.Getenv(workerEnv)
	if told == "" {
		os.Exit(m.Run())
	}
	var j job
	err := json.Unmarshal([]byte(told), &j)
	if err == nil {
		err = j.work()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
