package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if url := os.Getenv(childURL); url != "" {
		exit(soak(ctx, url, os.Stdout))
		return
	}
	o, err := readOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures all that was asked and reports what it has, also when a part
// could not be measured.
func run(ctx context.Context, o options) error {
	var rows []row
	var errs []error
	if o.allocs {
		r, err := measureCore(ctx, o)
		rows, errs = append(rows, r...), append(errs, err)
	}
	for _, s := range o.servers {
		r, err := measureServer(ctx, s, o)
		rows, errs = append(rows, r...), append(errs, err)
	}
	if len(rows) > 0 {
		printTable(os.Stdout, rows)
	}
	errs = append(errs, writeJSON(os.Getenv("BENCH_OUT"), rows))
	return errors.Join(errs...)
}

func measureServer(ctx context.Context, s server, o options) ([]row, error) {
	s, err := s.identify(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.label, err)
	}
	var rows []row
	for _, c := range contests(o) {
		say("%s: %s, %d rounds of %d messages", s.label, c.name, o.rounds, c.messages)
		r, err := c.run(ctx, s, o.rounds)
		rows = append(rows, r...)
		if err != nil {
			return rows, fmt.Errorf("%s: %s: %w", s.label, c.name, err)
		}
	}
	if !o.memory {
		return rows, nil
	}
	say("%s: memory, %d messages", s.label, o.soak)
	r, err := measureMemory(ctx, s, o.soak)
	if err != nil {
		return rows, fmt.Errorf("%s: memory: %w", s.label, err)
	}
	return append(rows, r...), nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
