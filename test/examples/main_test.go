package examples

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	root = "../.."

	// within is how long a program may take; those that work take seconds.
	within = 90 * time.Second
)

// program builds a package of this module and returns the binary, in a folder
// with nothing else in it.
func program(t *testing.T, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(pkg))
	build := exec.Command("go", "build", "-o", binary, "./"+pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// outcome is how a program ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a command to its end, at the root of the module. env is added to
// the environment, in which no broker is named.
func run(t *testing.T, stdin string, env []string, name string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = root, environ(env...), strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	// A script's children must not outlive a test that fails.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s: %v, %v\n%s%s", name, err, ctx.Err(), &out, &errOut)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "AMQP_URL" || strings.HasPrefix(name, "HOLDFAST_")
	})
	return append(env, more...)
}

// wants fails the test unless the program ended with that code and said all
// of that, on either side.
func (o outcome) wants(t *testing.T, code int, contains ...string) {
	t.Helper()
	text := o.stdout + o.stderr
	for _, c := range contains {
		if !strings.Contains(text, c) {
			t.Errorf("it does not say %q", c)
		}
	}
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if t.Failed() {
		t.Log(text)
	}
}
