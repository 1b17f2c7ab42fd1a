package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // of what a relay tells, a failure shows in the figures
	o, err := readOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/outbox:", err)
		os.Exit(1)
	}
}

// run measures all that was asked and reports what it has, also when a part could not be measured.
func run(ctx context.Context, o options) error {
	g, err := openGround(ctx, o)
	if err != nil {
		return err
	}
	defer g.close()
	var rows []row
	var errs []error
	if o.wants("relay") {
		r, err := measureRelays(ctx, g)
		rows, errs = append(rows, r...), append(errs, err)
	}
	if o.wants("add") {
		r, err := measureAdd(ctx, g)
		rows, errs = append(rows, r...), append(errs, err)
	}
	if len(rows) > 0 {
		printTable(os.Stdout, rows)
	}
	errs = append(errs, writeJSON(os.Getenv("BENCH_OUT"), rows))
	return errors.Join(errs...)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
