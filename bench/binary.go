package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	module  = "github.com/holdfast-mq/holdfast"
	command = module + "/cmd/holdfast"

	// starts is how often a program is started.
	starts = 20

	// idle is a program that does nothing: what the operating system and the
	// runtime take in any case.
	idle = "package main\n\nfunc main() {}\n"
)

// measureBinary builds the command in both ways, and starts it in turn with a
// program that does nothing.
func measureBinary(ctx context.Context) ([]row, error) {
	say("binary: two builds, %d starts", starts)
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "idle.go")
	if err := os.WriteFile(source, []byte(idle), 0o600); err != nil {
		return nil, err
	}
	whole, stripped, nothing := filepath.Join(dir, "whole"), filepath.Join(dir, "stripped"), filepath.Join(dir, "nothing")
	for _, args := range [][]string{{"-o", whole, command}, {"-ldflags", "-s -w", "-o", stripped, command}, {"-o", nothing, source}} {
		build := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("binary: go build: %w", err)
		}
	}
	size, err := compareSizes(stripped, whole)
	if err != nil {
		return nil, err
	}
	start, err := compareStarts(ctx, whole, nothing)
	return []row{size, start}, err
}

func compareSizes(stripped, whole string) (row, error) {
	var sizes [2][]result
	for i, file := range []string{stripped, whole} {
		info, err := os.Stat(file)
		if err != nil {
			return row{}, err
		}
		sizes[i] = []result{{size: float64(info.Size()) / 1e6}}
	}
	return compare(`binary: size, go build -ldflags "-s -w" / go build`, "MB", sizes[0], sizes[1], result.bySize), nil
}

// compareStarts measures wall time, with the start of the process.
func compareStarts(ctx context.Context, ours, idle string) (row, error) {
	var times [2][]result
	for range starts {
		for i, args := range [][]string{{ours, "version"}, {idle}} {
			began := time.Now()
			if err := exec.CommandContext(ctx, args[0], args[1:]...).Run(); err != nil {
				return row{}, err
			}
			times[i] = append(times[i], result{wall: float64(time.Since(began).Microseconds()) / 1000})
		}
	}
	return compare("binary: start, holdfast version / a program that does nothing", "ms", times[0], times[1], result.byWall), nil
}
