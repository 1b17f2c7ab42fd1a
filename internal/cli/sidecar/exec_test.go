//go:build unix

package sidecar

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func shell(t *testing.T, cmd string) Handler {
	t.Helper()
	h, err := Exec(ExecConfig{Command: cmd, Without: []string{"HOLDFAST_BROKER"}, Reply: true})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestExec_maps_the_end_to_a_verdict(t *testing.T) {
	for cmd, want := range map[string]string{
		"exit 0": "done", "exit 65": "park", "exit 75": "hold", "exit 1": "retry", "exit 64": "retry",
		"exit 126": "hold", "/no/such/command": "hold", "kill -9 $$": "retry", "kill -TERM $$": "retry",
	} {
		if _, err := shell(t, cmd)(t.Context(), message()); said(err) != want {
			t.Errorf("%s: %s (%v), want %s", cmd, said(err), err, want)
		}
	}
}

func TestExec_hands_the_message_over(t *testing.T) {
	t.Setenv("HOLDFAST_BROKER", "amqp://u:secret@h")
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	m := message()
	m.Headers["nul"] = "a\x00b"
	m.Headers["X-Tenant.Id"] = "7"
	if _, err := shell(t, `cat >"$OUT"; echo >>"$OUT"; env | grep HOLDFAST >>"$OUT"`)(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	body, env, _ := strings.Cut(string(b), "\n")
	if body != "the body" {
		t.Errorf("stdin was %q", body)
	}
	for _, want := range []string{
		"HOLDFAST_ATTEMPT=2", "HOLDFAST_LAP=3", "HOLDFAST_MESSAGE_ID=m-1", "HOLDFAST_CORRELATION_ID=c-1",
		"HOLDFAST_KEY=orders.created", "HOLDFAST_EXCHANGE=shop", "HOLDFAST_QUEUE=orders", "HOLDFAST_REDELIVERED=true",
		"HOLDFAST_CONTENT_TYPE=application/json", "HOLDFAST_HEADER_TENANT=acme", "HOLDFAST_HEADER_X_TENANT_ID=7",
	} {
		if !strings.Contains(env, want+"\n") {
			t.Errorf("no %s in\n%s", want, env)
		}
	}
	if strings.Contains(env, "secret") || strings.Contains(env, "NUL") {
		t.Errorf("too much in\n%s", env)
	}
}

func TestExec_keeps_the_end_of_stderr(t *testing.T) {
	_, err := shell(t, `head -c 10000 /dev/zero | tr '\0' x >&2; echo "the end" >&2; exit 65`)(t.Context(), message())
	text := err.Error()
	if !strings.HasPrefix(text, "the command ended with exit code 65: xxx") || !strings.HasSuffix(text, "the end") || len(text) > 2200 {
		t.Errorf("%d bytes: %.60q … %q", len(text), text, text[max(0, len(text)-20):])
	}
}

func TestExec_kills_the_whole_group(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	fifo := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIDFILE", pid)
	t.Setenv("FIFO", fifo)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("the time is over")
	ended := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := shell(t, `sleep 1000 & echo $! >"$PIDFILE"; echo ready >"$FIFO"; wait`)(ctx, message())
		ended <- err
	}()
	if _, err := os.ReadFile(fifo); err != nil { // blocks until the command is there
		t.Fatal(err)
	}
	cancel(late)
	if err := <-ended; said(err) != "retry" || !errors.Is(err, late) {
		t.Errorf("%s, %v", said(err), err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	b, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, "the command's child dies with it", func() bool { return !running(child) })
}

// running reports whether pid is there and no zombie that nobody reaped.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestExec_does_not_mind_an_unread_body(t *testing.T) {
	m := message()
	m.Body = make([]byte, 1<<20)
	if _, err := shell(t, "exit 0")(t.Context(), m); err != nil {
		t.Errorf("%v", err)
	}
}

func TestExec_replies(t *testing.T) {
	m := message()
	if reply, err := shell(t, "echo 42")(t.Context(), m); reply != nil || err != nil {
		t.Errorf("nobody asked: %v, %v", reply, err)
	}
	m.ReplyTo = "caller"
	if reply, err := shell(t, "printf 42")(t.Context(), m); err != nil || string(reply.Body) != "42" {
		t.Errorf("%+v, %v", reply, err)
	}
	if reply, err := shell(t, "printf 42; exit 75")(t.Context(), m); said(err) != "hold" || reply != nil {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestExec_needs_a_command(t *testing.T) {
	if _, err := Exec(ExecConfig{Command: " "}); err == nil {
		t.Error("no error")
	}
}
