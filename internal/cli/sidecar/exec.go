package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
)

const (
	// stderrTail is how much of the end of a command's stderr is kept as the
	// error's text.
	stderrTail = 2 << 10

	// waitDelay is how long a command that was killed may keep its pipes
	// open: a grandchild may have inherited them.
	waitDelay = 2 * time.Second

	// maxVariable is below what Linux accepts as one variable.
	maxVariable = 64 << 10
)

// ExecConfig says what is run for each message.
type ExecConfig struct {
	// Command is run by sh -c.
	Command string

	// Without are names of variables that the command does not inherit: those
	// that carry the sidecar's own credentials.
	Without []string

	// Reply makes the stdout of a success the reply to a request.
	Reply bool
}

// Exec returns a handler that runs a command for each message, whose exit code
// is the verdict. The command gets the body on stdin and the rest in HOLDFAST_*
// variables. When the time for it is over, its whole process group is killed.
func Exec(cfg ExecConfig) (Handler, error) {
	if strings.TrimSpace(cfg.Command) == "" {
		return nil, errors.New("sidecar: the command is empty")
	}
	c := &command{cfg: cfg, env: inherited(os.Environ(), cfg.Without)}
	return c.handle, nil
}

type command struct {
	cfg ExecConfig
	env []string
}

func (c *command) handle(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", c.cfg.Command)
	cmd.Env = append(c.env[:len(c.env):len(c.env)], variables(m)...)
	cmd.Stdin = bytes.NewReader(m.Body)
	cmd.WaitDelay = waitDelay
	killGroup(cmd)
	errs := &tail{max: stderrTail}
	cmd.Stderr = errs
	var out *capped
	if c.cfg.Reply && m.ReplyTo != "" {
		out = &capped{max: maxReply}
		cmd.Stdout = out
	}
	err := cmd.Run()
	if v, why := c.judge(ctx, err, errs.text()); v != done {
		return nil, v.outcome(why, 0)
	}
	switch {
	case out == nil:
		return nil, nil
	case out.over:
		return nil, retry.outcome(fmt.Errorf("the reply is larger than %d bytes", maxReply), 0)
	default:
		return &holdfast.Reply{Body: out.buf.Bytes(), ContentType: m.ContentType}, nil
	}
}

// judge reads how the command ended.
func (c *command) judge(ctx context.Context, err error, stderr string) (verdict, error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return retry, withText(fmt.Errorf("the command was killed: %w", context.Cause(ctx)), stderr)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		// It ended well; something it started keeps its output open.
		return done, nil
	case !errors.As(err, &exit):
		// It did not start: no shell, no memory, no process left.
		return hold, withText(err, stderr)
	case !exit.Exited():
		return retry, withText(fmt.Errorf("the command ended by a signal (%s)", exit.ProcessState), stderr)
	default:
		return ofExit(exit.ExitCode()), withText(fmt.Errorf("the command ended with exit code %d", exit.ExitCode()), stderr)
	}
}

func withText(err error, stderr string) error {
	if stderr == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, stderr)
}

func inherited(environ, without []string) []string {
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		drop := strings.HasPrefix(name, "HOLDFAST_HEADER_")
		for _, w := range without {
			drop = drop || name == w
		}
		if !drop {
			out = append(out, entry)
		}
	}
	return out
}

// variables describes m. A value that no variable can carry is left out, since
// the command would not start with it, ever.
func variables(m *holdfast.Message) []string {
	var out []string
	set := func(name, value string) {
		if !strings.ContainsRune(value, 0) && len(value) <= maxVariable {
			out = append(out, name+"="+value)
		}
	}
	for _, f := range factsOf(m) {
		set("HOLDFAST_"+variable(f.name), f.value)
	}
	set("HOLDFAST_CONTENT_TYPE", m.ContentType)
	set("HOLDFAST_CONTENT_ENCODING", m.ContentEncoding)
	for _, f := range headersOf(m) {
		set("HOLDFAST_HEADER_"+variable(f.name), f.value)
	}
	return out
}

// variable turns a header's name into one that a shell can use.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, name)
}

// tail keeps the end of what is written to it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "\ufffd"))
}

// capped keeps what is written to it until it is too much, and swallows the
// rest, so that the command does not die of a closed pipe.
type capped struct {
	max  int
	buf  bytes.Buffer
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.over = c.over || c.buf.Len()+len(p) > c.max; !c.over {
		c.buf.Write(p)
	}
	return len(p), nil
}
