package examples

import (
	"os/exec"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		testenv.Skip(t, "python3", "not installed")
	}
}
