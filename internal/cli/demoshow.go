package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/holdfast-mq/holdfast/internal/demo"
)

// demoShow is one run of the command.
type demoShow struct {
	*root
	flags *demoFlags
	stage *demo.Embedded
	dir   string
}

// live reports whether the story is drawn in place.
func (s *demoShow) live() bool {
	return s.StdoutTerminal && !s.flags.json && s.Getenv("TERM") != "dumb"
}

func (s *demoShow) config() demo.Config {
	cfg := demo.Config{Orders: s.flags.orders, Ledger: demo.LedgerIn(s.dir), Pace: demo.Unwatched()}
	switch {
	case s.live():
		cfg.Pace = demo.Watched()
	case !s.flags.json:
		cfg.Told = func(sentence string) { fmt.Fprintln(s.Stdout, sentence) }
	}
	return cfg
}

func (s *demoShow) run(ctx context.Context, play *demo.Play) error {
	stop := s.draw(ctx, play)
	result, err := play.Run(ctx)
	stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return s.stopped()
	case err != nil:
		return err
	}
	if err := s.report(result); err != nil {
		return err
	}
	if why := result.Verdict(); why != "" {
		return &incompleteError{why}
	}
	if s.flags.keep {
		return play.Linger(ctx, s.line)
	}
	return nil
}

func (s *demoShow) stopped() error {
	if s.flags.dir != "" {
		return &incompleteError{"stopped before the end; the same command goes on from here"}
	}
	return &incompleteError{"stopped before the end"}
}

// draw draws the story on a terminal until stop is called or ctx ends. The
// cursor is back before anything else is done.
func (s *demoShow) draw(ctx context.Context, play *demo.Play) (stop func()) {
	if !s.live() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		screen := demo.NewScreen(s.Stdout)
		defer screen.Close()
		view := demo.View{Colour: s.Getenv("NO_COLOR") == ""}
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			width, height := s.size()
			screen.Draw(view.Draw(play.Snapshot(), width, height))
			select {
			case <-tick.C:
			case <-ctx.Done():
				screen.Draw(view.Draw(play.Snapshot(), width, height))
				return
			}
		}
	}()
	return func() { cancel(); <-drawn }
}

// size asks each time: the person may have changed it.
func (s *demoShow) size() (width, height int) {
	if f, ok := s.Stdout.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil {
			return width, height
		}
	}
	return s.Width, 0
}

func (s *demoShow) report(r demo.Result) error {
	if s.flags.json {
		if err := s.emit(r); err != nil {
			return err
		}
		if s.flags.keep {
			s.say("%s", strings.TrimSpace(s.next()))
		}
		return nil
	}
	_, err := fmt.Fprintf(s.Stdout, "\n%s\n%s", r.Report(s.Width), s.next())
	return err
}

// line shows what happens while the demo is kept.
func (s *demoShow) line(l demo.Line) {
	if s.flags.json {
		return
	}
	fmt.Fprintln(s.Stdout, l)
}

// next is what to try now. The commands can be copied as they stand.
func (s *demoShow) next() string {
	me, q := invoked(), s.stage.Queue()
	switch {
	case s.flags.keep:
		return "It goes on until ctrl-C, and its decoder is mended meanwhile. In another terminal:\n\n" +
			list("export HOLDFAST_BROKER="+s.stage.URL(), "", me+" parked "+q, "what is parked, and why",
				me+" show "+q+" '#1'", "everything of one", me+" replay "+q+" --malformed", "some will work now")
	case s.flags.dir != "":
		return "The folder is kept. What is parked in it:\n\n" +
			list("export HOLDFAST_BROKER=embedded:"+demo.BrokerIn(s.dir), "", me+" parked "+q, "what is parked, and why",
				me+" show "+q+" '#1'", "everything of one")
	default:
		return "Next:\n\n" +
			list(me+" demo --keep", "goes on running, for the other commands to be tried", me+" consume --help", "the sidecar, for a service in any language",
				"examples/rabbitmq", "a consumer of RabbitMQ, as a program of your own")
	}
}

// list is commands, each with what it does.
func list(pairs ...string) string {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, len(pairs[i]))
		}
	}
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		line := "  " + pairs[i]
		if pairs[i+1] != "" {
			line = pad(line, width+2) + "  # " + pairs[i+1]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// invoked is this program as it was called.
func invoked() string {
	if strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return "go run ./cmd/holdfast"
	}
	return os.Args[0]
}
