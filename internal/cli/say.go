package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// say writes a line for people, on the side of the results.
func (r *root) say(format string, args ...any) {
	fmt.Fprintf(r.Stderr, format+"\n", args...)
}

// warn writes a line that should not be overlooked.
func (r *root) warn(format string, args ...any) {
	fmt.Fprintf(r.Stderr, "%s %s\n", r.paint("holdfast: warning:", yellow), fmt.Sprintf(format, args...))
}

// emit writes one object as one line.
func (r *root) emit(v any) error {
	lines := json.NewEncoder(r.Stdout)
	lines.SetEscapeHTML(false)
	return lines.Encode(v)
}

const (
	bold   = "\x1b[1m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// paint colours text on stderr, where that is a terminal and NO_COLOR is not
// set.
func (r *root) paint(text, colour string) string {
	if !r.StderrTerminal || r.Getenv("NO_COLOR") != "" {
		return text
	}
	return colour + text + plain
}

// heading makes text bold on stdout, under the same conditions.
func (r *root) heading(text string) string {
	if !r.StdoutTerminal || r.Getenv("NO_COLOR") != "" {
		return text
	}
	return bold + text + plain
}

// declined ends a command that the person did not want after all.
var errDeclined = &incompleteError{"nothing was done"}

// confirm asks on a terminal; anywhere else it goes on. A verb for which that
// is too bold asks for --yes itself.
func (r *root) confirm(ctx context.Context, format string, args ...any) error {
	if r.yes || !r.StdinTerminal {
		return nil
	}
	fmt.Fprintf(r.Stderr, format+" [y/N] ", args...)
	answer := make(chan string, 1)
	go func() {
		// It stays behind when ctx ends first: a read of a terminal cannot be
		// interrupted, and the process ends soon.
		line, _ := bufio.NewReader(r.Stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		r.say("")
		return errDeclined
	case a := <-answer:
		if a == "y" || a == "yes" {
			return nil
		}
		return errDeclined
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
