package demo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// holdfast is the binary under test.
var holdfast string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdfast-demo-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	holdfast = filepath.Join(dir, "holdfast")
	build := exec.Command("go", "build", "-o", holdfast, "github.com/holdfast-mq/holdfast/cmd/holdfast")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
