package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdfast-mq/holdfast/internal/app"
)

// Env is everything that a command touches outside of itself.
type Env struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string

	// Open opens the broker; [app.Open] in the real program.
	Open func(context.Context, app.Config) (app.Broker, error)

	// OpenStore opens the database; [app.OpenStore] in the real program.
	OpenStore func(context.Context, app.StoreConfig) (app.Store, error)

	// Signals delivers SIGINT and SIGTERM; nil means none. The second ends
	// the process through Exit.
	Signals <-chan os.Signal
	Exit    func(code int)

	// Which of the three is a terminal, and how wide it is.
	StdinTerminal  bool
	StdoutTerminal bool
	StderrTerminal bool
	Width          int

	Now func() time.Time
}

// System is the environment of the running process.
func System() Env {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	e := Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Open: app.Open, OpenStore: app.OpenStore, Signals: signals, Exit: os.Exit,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Now:            time.Now,
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		e.Width = width
	}
	return e
}

// Main runs the command line of this process and returns its exit code.
func Main() int { return Run(context.Background(), System()) }
