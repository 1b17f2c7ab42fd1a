package demo

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var inUse = regexp.MustCompile(`is in use by process \d+, which listens: use (nats://127\.0\.0\.1:\d+) instead`)

// TestKeepLeavesABrokerForTheOtherCommands types what it prints.
func TestKeepLeavesABrokerForTheOtherCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "--keep", "--dir", dir, "--orders", "200")
	script := []string{strings.TrimSpace(s.await("export HOLDFAST_BROKER=nats://127.0.0.1:"))}
	for range 3 {
		script = append(script, strings.TrimSpace(s.await(" orders/billing")))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-xeuo", "pipefail", "-c", strings.Join(script, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"10 waiting", "malformed 10", "malformed body: ", "replayed 10",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	s.await("replayed, and charged") // those with amounts as text
	s.await("malformed body: ")      // those that were cut off
	_, stderr, code := run(t, "demo", "--dir", dir)
	if code != 2 || !inUse.MatchString(stderr) {
		t.Errorf("a second demo on the folder: exit code %d, %s", code, stderr)
	}
	if code := s.end(syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestAFolderThatIsKeptCanBeLookedInto uses the embedded broker's folder.
func TestAFolderThatIsKeptCanBeLookedInto(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "--dir", dir, "--orders", "40")
	var script []string
	for _, part := range []string{"export HOLDFAST_BROKER=embedded:", "parked orders/billing", "show orders/billing"} {
		script = append(script, strings.TrimSpace(s.await(part)))
	}
	for range s.lines {
		continue
	}
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.Join(script, "\n")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 waiting") || !strings.Contains(string(out), "malformed body: ") {
		t.Errorf("%v\n%s", err, out)
	}
}
