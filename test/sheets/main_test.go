package sheets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 90 * time.Second

// tools is a folder with what the pages type: holdfast, and rabbitmqctl for the
// test's own broker.
var tools string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdfast-sheets")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tools = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "holdfast"), "github.com/holdfast-mq/holdfast/cmd/holdfast")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
