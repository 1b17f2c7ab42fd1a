package demo

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
)

var (
	colour = regexp.MustCompile("\x1b\\[[0-9]+m")
	up     = regexp.MustCompile("\x1b\\[[0-9]+A")
	escape = regexp.MustCompile("\x1b\\[[?0-9]*[a-zA-Z]")
)

// onTerminal starts the demo on a terminal.
func onTerminal(t *testing.T, rows, columns uint16, env string, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	cmd := command(t, append([]string{"demo"}, args...)...)
	cmd.Env = append(cmd.Env, env)
	term, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = term.Close() })
	return cmd, term
}

// read reads a terminal to its end. The end itself is an error on Linux.
func read(term io.Reader) string {
	all, _ := io.ReadAll(term)
	return string(all)
}

func TestOnATerminalItDrawsInPlace(t *testing.T) {
	t.Parallel()
	cmd, term := onTerminal(t, 24, 60, "NO_COLOR=")
	text := read(term)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, text)
	}
	drawn, after, shown := strings.Cut(text, showCursor)
	if !strings.HasPrefix(drawn, hideCursor) || !shown || strings.Contains(after, "\x1b") {
		t.Errorf("the cursor is not hidden before the first frame and shown after the last: %q", text)
	}
	if n := len(up.FindAllString(text, -1)); n < 20 {
		t.Errorf("it was redrawn %d times", n)
	}
	if !colour.MatchString(text) {
		t.Error("it is grey")
	}
	for line := range strings.Lines(drawn) {
		line = strings.TrimRight(line[strings.LastIndex(line, "\r")+1:], "\r\n")
		if n := utf8.RuneCountInString(escape.ReplaceAllString(line, "")); n >= 60 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, want := range []string{"0 lost", "The books balance", "demo --keep"} {
		if !strings.Contains(after, want) {
			t.Errorf("the end lacks %q:\n%s", want, after)
		}
	}
}

func TestItIsGreyWhereNobodyWantsColours(t *testing.T) {
	t.Parallel()
	cmd, term := onTerminal(t, 24, 60, "NO_COLOR=1", "--orders", "20")
	text := read(term)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, text)
	}
	if colour.MatchString(text) || !up.MatchString(text) {
		t.Errorf("%q", text)
	}
}

func TestADumbTerminalGetsPlainLines(t *testing.T) {
	t.Parallel()
	cmd, term := onTerminal(t, 24, 60, "TERM=dumb", "--orders", "20")
	text := read(term)
	if err := cmd.Wait(); err != nil || strings.Contains(text, "\x1b") || !strings.Contains(text, "orders come in") {
		t.Errorf("%v\n%q", err, text)
	}
}

func TestControlCGivesTheCursorBack(t *testing.T) {
	t.Parallel()
	cmd, term := onTerminal(t, 24, 60, "NO_COLOR=")
	var seen bytes.Buffer
	chunk := make([]byte, 4096)
	for !up.MatchString(seen.String()) { // it was drawn twice
		n, err := term.Read(chunk)
		if err != nil {
			t.Fatalf("%v\n%q", err, seen.String())
		}
		seen.Write(chunk[:n])
	}
	if _, err := term.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	seen.WriteString(read(term))
	_ = cmd.Wait()
	text := seen.String()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if _, after, found := strings.Cut(text, showCursor); !found || !strings.Contains(after, "stopped before the end") {
		t.Errorf("%q", text)
	}
}
