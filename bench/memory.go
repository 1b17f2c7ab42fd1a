package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	// firstMark is when memory is measured for the first time.
	firstMark = 100_000

	// maxBacklog bounds what waits in the broker: when the consumer is that
	// far behind, publishing stops.
	maxBacklog = 50_000
	fillStep   = 10_000

	// memoryBound is how much larger the second measurement may be.
	memoryBound = 1.10

	soakTime = 30 * time.Minute
)

// progress is a line that the consuming process writes.
type progress struct {
	Seen int `json:"seen"`

	// AsIs and Settled are resident kilobytes at a mark: as an operator sees
	// them, and after everything that the program does not use was given back
	// to the system. 0 on other lines.
	AsIs    float64 `json:"as_is,omitempty"`
	Settled float64 `json:"settled,omitempty"`
}

// measureMemory publishes from here to a consumer in a process of its own,
// so that its resident memory is that of one consumer and nothing else.
func measureMemory(ctx context.Context, s server, total int) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, soakTime)
	defer cancel()
	url, drop, err := s.vhost(ctx)
	if err != nil {
		return nil, err
	}
	marks, err := soakThrough(ctx, url, total)
	if err := errors.Join(err, drop()); err != nil {
		return nil, err
	}
	if len(marks) != 2 {
		return nil, fmt.Errorf("%d of 2 measurements were made", len(marks))
	}
	title := fmt.Sprintf("%s: memory after %d / after %d messages, ", s.label, total, firstMark)
	return []row{
		growth(title+"as it is", marks[0].AsIs, marks[1].AsIs),
		growth(title+"after a collection", marks[0].Settled, marks[1].Settled),
	}, nil
}

func growth(name string, before, after float64) row {
	ratio := after / before
	r := row{Name: name, Unit: "KiB", Rounds: 1, Ours: after, Peer: before, Ratio: ratio, low: ratio, high: ratio}
	return r.most(memoryBound)
}

// soakThrough returns what the consumer measured at the two marks.
func soakThrough(ctx context.Context, url string, total int) ([]progress, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h, err := openHouse(ctx, url)
	if err != nil {
		return nil, err
	}
	defer h.close()
	child, lines, err := startChild(ctx, url, total)
	if err != nil {
		return nil, err
	}
	reports := make(chan progress)
	go func() {
		defer close(reports)
		for dec := json.NewDecoder(bufio.NewReader(lines)); ; {
			var p progress
			if dec.Decode(&p) != nil {
				return
			}
			reports <- p
		}
	}()
	marks, err := feed(ctx, h, reports, total)
	if err != nil {
		stop() // ends the child
	}
	for range reports {
	}
	return marks, errors.Join(err, child.Wait())
}

func startChild(ctx context.Context, url string, total int) (*exec.Cmd, io.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	child := exec.CommandContext(ctx, self)
	// By the environment and not by an argument, which anyone can list.
	child.Env = append(os.Environ(), childURL+"="+url, childTotal+"="+strconv.Itoa(total))
	child.Stderr = os.Stderr
	lines, err := child.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return child, lines, child.Start()
}

// feed publishes, never more than maxBacklog ahead of the consumer, and
// gathers the marks.
func feed(ctx context.Context, h *house, reports <-chan progress, total int) ([]progress, error) {
	var marks []progress
	seen := 0
	note := func(p progress, ok bool) error {
		if !ok {
			return errors.New("the consuming process ended early")
		}
		if seen = p.Seen; p.AsIs > 0 {
			marks = append(marks, p)
		}
		return nil
	}
	for sent := 0; seen < total; {
		if sent < total && sent-seen < maxBacklog {
			n := min(fillStep, total-sent)
			if err := h.fill(ctx, n); err != nil {
				return nil, err
			}
			sent += n
		}
		for wait := sent == total || sent-seen >= maxBacklog; ; wait = false {
			p, ok, got := next(reports, wait)
			if !got {
				break
			}
			if err := note(p, ok); err != nil {
				return nil, err
			}
			if seen == total {
				break
			}
		}
	}
	return marks, nil
}

// next takes a report if there is one, or waits for it.
func next(reports <-chan progress, wait bool) (p progress, ok, got bool) {
	if wait {
		p, ok = <-reports
		return p, ok, true
	}
	select {
	case p, ok = <-reports:
		return p, ok, true
	default:
		return progress{}, false, false
	}
}

// resident is this process's resident memory in KiB.
func resident() (float64, error) {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("resident memory can only be read on Linux: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return 0, errors.New("no VmRSS in /proc/self/status")
}
