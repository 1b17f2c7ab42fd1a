package examples

import (
	"os"
	"os/exec"
	"testing"
)

// needPython skips a test where there is no Python, and records that as
// testenv does for a server.
func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err == nil {
		return
	}
	const reason = "python3: not installed"
	if list := os.Getenv("HOLDFAST_NOT_RUN"); list != "" {
		f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(reason + " (test/examples)\n"); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip(reason)
}
