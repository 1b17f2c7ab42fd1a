package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// aMinute is what the demo promises. It is a bound for a machine that is busy
// with other tests, too; the demo takes some seconds.
const aMinute = time.Minute

// command is the binary with a temporary folder of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), aMinute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, holdfast, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "NO_COLOR=", "TERM=xterm-256color", "HOLDFAST_BROKER=", "AMQP_URL=")
	return cmd
}

// run runs the binary to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

var keys = []string{
	"balanced", "delayed", "discarded", "done", "duplicates", "elapsed_seconds", "held", "lost", "parked", "received", "replayed",
}

// books is what --json prints.
type books struct {
	Received, Done, Delayed, Held, Parked, Discarded, Replayed, Lost, Duplicates int
	Balanced                                                                     bool
}

// ended runs the demo with --json and checks all that must be true of every
// end.
func ended(t *testing.T, args ...string) books {
	t.Helper()
	stdout, stderr, code := run(t, append([]string{"demo", "--json"}, args...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	var object map[string]any
	var b books
	if err := errors.Join(json.Unmarshal([]byte(stdout), &object), json.Unmarshal([]byte(stdout), &b)); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, keys) {
		t.Errorf("the keys are %q", got)
	}
	if !b.Balanced || b.Lost != 0 || b.Received != b.Done+b.Delayed+b.Held+b.Parked+b.Discarded {
		t.Errorf("%+v", b)
	}
	return b
}

func TestTheDemoEndsWithBalancedBooksAndNothingLost(t *testing.T) {
	t.Parallel()
	b := ended(t)
	want := books{Done: 277, Parked: 30, Discarded: 8, Replayed: 15}
	if b.Done != want.Done || b.Parked != want.Parked || b.Discarded != want.Discarded || b.Replayed != want.Replayed {
		t.Errorf("%+v, not %+v", b, want)
	}
	if b.Held == 0 || b.Delayed == 0 || b.Duplicates != 0 {
		t.Errorf("%+v", b)
	}
}

func TestItLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	cmd := command(t, "demo", "--orders", "20", "--output", "json")
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir()) // the last one counts
	dir := strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWithoutATerminalItWritesPlainLines(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, "demo")
	if code != 0 || stderr != "" || strings.ContainsAny(stdout, "\x1b\r") {
		t.Errorf("exit code %d\n%q\n%q", code, stdout, stderr)
	}
	at := 0
	for _, want := range []string{
		"300 orders come in\n", "billing is down", "billing is back", "15 orders are parked as exhausted", "the bug is fixed: replaying 15 orders\n",
		"the end: 15 orders are malformed and parked", "277 charged, 8 discarded, 15 parked, 0 lost", "The books balance: received ", "demo --keep",
	} {
		i := strings.Index(stdout[at:], want)
		if i < 0 {
			t.Fatalf("it does not say %q after\n%s\nbut\n%s", want, stdout[:at], stdout[at:])
		}
		at += i
	}
}

func TestWhatCannotWorkIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended(t, "--dir", dir, "--orders", "20")
	for want, args := range map[string][]string{
		"leave --broker out":           {"--broker", "nats://127.0.0.1:1"},
		"leave --namespace out":        {"--namespace", "mine"},
		"--orders is 1 to":             {"--orders", "0"},
		"20 orders and not 21":         {"--orders", "21", "--dir", dir},
		"not a directory":              {"--dir", holdfast},
		`unknown command "x"`:          {"x"},
		"--output is text or json, no": {"--output", "yaml"},
	} {
		stdout, stderr, code := run(t, append([]string{"demo"}, args...)...)
		if code == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// started is a demo that runs, with its lines as they come.
type started struct {
	*exec.Cmd
	t     *testing.T
	lines chan string
	said  []string
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: command(t, append([]string{"demo"}, args...)...), t: t, lines: make(chan string, 1000)}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go scan(out, s.lines)
	t.Cleanup(func() { _ = s.Process.Kill() })
	return s
}

// await returns the next line that contains text.
func (s *started) await(text string) string {
	s.t.Helper()
	for line := range s.lines {
		s.said = append(s.said, line)
		if strings.Contains(line, text) {
			return line
		}
	}
	s.t.Fatalf("it ended without saying %q, but\n%s", text, strings.Join(s.said, "\n"))
	return ""
}

// end sends a signal and returns the exit code, -1 for a killed process.
func (s *started) end(sig syscall.Signal) int {
	s.t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	for range s.lines { // a pipe must be read to its end before Wait
		continue
	}
	err := s.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.ProcessState.ExitCode()
}
