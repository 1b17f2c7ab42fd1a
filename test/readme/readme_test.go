// Package readme does what the README says, as it is typed there.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const root = "../.."

var fence = regexp.MustCompile("(?s)```(sh|go)\n(.*?)```")

// block returns the n-th fenced block of a language in the README.
func block(t *testing.T, language string, n int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != language {
			continue
		}
		if n == 0 {
			return m[2]
		}
		n--
	}
	t.Fatalf("the README has no such block of %s", language)
	return ""
}

func TestTheConsumerCompilesAsWritten(t *testing.T) {
	dir, err := os.MkdirTemp(filepath.Join(root, "test", "readme"), "written")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(block(t, "go", 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", "./"+filepath.Base(dir)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheQuickStartWorksAsTyped leaves out only the last line, which stops the
// servers that other tests use.
func TestTheQuickStartWorksAsTyped(t *testing.T) {
	server := testenv.Need(t, "rabbitmq4")
	script, stop, found := strings.Cut(block(t, "sh", 0), "make services-stop")
	if !found || strings.TrimSpace(stop) != "" {
		t.Fatal("the quick start does not end by stopping its servers")
	}
	t.Cleanup(func() {
		for _, q := range []string{"orders.billing", "orders.billing.parked", "orders.billing.hold"} {
			server.Ctl(t, "delete_queue", q)
		}
	})
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{"order 1 charged on attempt 1", "Parked:2", "malformed", "exhausted", "the card was declined", "replayed 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
