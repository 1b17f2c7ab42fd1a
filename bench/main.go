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
	if o.readers {
		r, err := measureReaders(ctx, o)
		rows, errs = append(rows, r...), append(errs, err)
	}
	for _, s := range o.servers {
		r, err := measureServer(ctx, s, o)
		rows, errs = append(rows, r...), append(errs, err)
	}
	if o.jetstream {
		r, err := measureContests(ctx, jetGround{}, jetLabel(), jetContests(o), o)
		rows, errs = append(rows, r...), append(errs, err)
	}
	if o.binary {
		r, err := measureBinary(ctx)
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
	rows, err := measureContests(ctx, s, s.label, rabbitContests(o), o)
	if err == nil && o.doctor {
		var r []row
		r, err = measureDoctor(ctx, s, o)
		rows = append(rows, r...)
	}
	if err != nil || !o.memory {
		return rows, err
	}
	say("%s: memory, %d messages", s.label, o.soak)
	r, err := measureMemory(ctx, s, o.soak)
	if err != nil {
		return rows, fmt.Errorf("%s: memory: %w", s.label, err)
	}
	return append(rows, r...), nil
}

// measureContests runs those that were asked for.
func measureContests(ctx context.Context, g ground, label string, contests []contest, o options) ([]row, error) {
	var rows []row
	for _, c := range contests {
		if !o.wants(c.name) {
			continue
		}
		say("%s: %s, %d rounds of %d messages", label, c.name, o.rounds, c.messages)
		r, err := c.run(ctx, g, label, o.rounds)
		rows = append(rows, r...)
		if err != nil {
			return rows, fmt.Errorf("%s: %s: %w", label, c.name, err)
		}
	}
	return rows, nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
