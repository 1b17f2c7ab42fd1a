package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/holdfast-mq/holdfast/bench/readers"
)

// drivers are measured by benchmarks of their own packages, since a driver's reader is its own business.
var drivers = []struct{ label, pkg string }{
	{"RabbitMQ", "rabbitmq"},
	{"JetStream", "jetstream"},
	{"SQS", "awssqs"},
	{"Pub/Sub", "gcppubsub"},
	{"RocketMQ", "rocketmq"},
}

// measureReaders measures what the count costs each driver's reader. Each round is a benchmark of one operation; all of
// them run in one process.
func measureReaders(ctx context.Context, o options) ([]row, error) {
	var rows []row
	for _, d := range drivers {
		say("%s: reader, %d rounds of %d messages", d.label, o.rounds, readers.Messages)
		// One processor: the collector does not work beside the clock.
		test := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkReader$", "-cpu", "1",
			"-benchtime", "1x", "-count", strconv.Itoa(o.rounds), module+"/broker/"+d.pkg)
		test.Stderr = os.Stderr
		out, err := test.Output()
		if err != nil {
			return rows, fmt.Errorf("reader of %s: go test: %w\n%s", d.label, err, out)
		}
		counted, plain, err := readReaders(string(out), o.rounds)
		if err != nil {
			return rows, fmt.Errorf("reader of %s: %w", d.label, err)
		}
		name := d.label + " reader: %s / without the count"
		rows = append(rows,
			compare(fmt.Sprintf(name, "allocations"), "allocs/msg", counted, plain, result.byAllocs).most(1),
			compare(fmt.Sprintf(name, "time"), "us/msg", counted, plain, result.byRead))
	}
	return rows, nil
}

// readReaders reads the rounds out of what go test prints.
func readReaders(out string, rounds int) (counted, plain []result, err error) {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		values, err := readMetrics(line)
		if err != nil {
			return nil, nil, err
		}
		counted = append(counted, result{allocs: values[readers.CountedAllocs], read: values[readers.CountedTime] / 1000})
		plain = append(plain, result{allocs: values[readers.PlainAllocs], read: values[readers.PlainTime] / 1000})
	}
	if len(counted) != rounds {
		return nil, nil, fmt.Errorf("%d rounds were measured and not %d:\n%s", len(counted), rounds, out)
	}
	return counted, plain, nil
}

// readMetrics reads a line of a benchmark: its name, the number of operations, and values with their units.
func readMetrics(line string) (map[string]float64, error) {
	fields, values := strings.Fields(line), map[string]float64{}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil, err
		}
		values[fields[i+1]] = v
	}
	for _, unit := range []string{readers.CountedAllocs, readers.CountedTime, readers.PlainAllocs, readers.PlainTime} {
		if _, measured := values[unit]; !measured {
			return nil, fmt.Errorf("the benchmark did not report %s", unit)
		}
	}
	return values, nil
}
