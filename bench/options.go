package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
)

const (
	bodySize = 256

	// serialShare is the part of the messages that a contestant gets which
	// waits for each confirm: it takes a millisecond and more for each.
	serialShare = 10
)

// paths are the contests, by name.
var paths = []string{"happy", "metrics", "traces", "traces-of-all", "park", "retry"}

// options is what a run measures.
type options struct {
	servers   []server
	jetstream bool
	rounds    int

	happy  int // messages in each run on the happy path
	copies int // and where each message is copied
	soak   int // in the memory run

	only   []string
	memory bool
	allocs bool
	binary bool

	readers bool
	doctor  bool
}

func readOptions(args []string) (options, error) {
	var o options
	var brokers, only string
	var quick bool
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&brokers, "brokers", "rabbitmq4,rabbitmq3,jetstream", "the `brokers` to measure on: RabbitMQ where it runs, JetStream inside this process")
	f.StringVar(&only, "only", strings.Join(paths, ","), "the `paths` to measure")
	f.IntVar(&o.rounds, "rounds", 5, "how often each contestant runs")
	f.IntVar(&o.happy, "messages", 20_000, "messages in a run of the happy path; half as many in one of park and retry")
	f.IntVar(&o.soak, "memory-messages", 1_000_000, "messages in the memory run")
	f.BoolVar(&o.memory, "memory", true, "measure memory, on RabbitMQ; takes some minutes")
	f.BoolVar(&o.allocs, "allocs", true, "measure the allocations of the core, which needs no broker")
	f.BoolVar(&o.readers, "readers", true, "measure what the count costs each driver's reader, which needs no broker")
	f.BoolVar(&o.doctor, "doctor", true, "measure the doctor at a large broker; takes some minutes")
	f.BoolVar(&o.binary, "binary", true, "measure the size of the command and how fast it starts")
	f.BoolVar(&quick, "quick", false, "a quarter of the messages, 3 rounds, no memory, no doctor: for development")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if quick {
		o.rounds, o.happy, o.memory, o.doctor = 3, o.happy/4, false, false
	}
	o.copies = o.happy / 2
	o.only = fields(only)
	names := fields(brokers)
	o.jetstream = slices.Contains(names, jetName)
	o.servers = findServers(slices.DeleteFunc(names, func(name string) bool { return name == jetName }))
	return o, o.check()
}

func (o options) check() error {
	var errs []error
	if o.rounds < 1 {
		errs = append(errs, fmt.Errorf("-rounds must be at least 1, not %d", o.rounds))
	}
	for _, path := range o.only {
		if !slices.Contains(paths, path) {
			errs = append(errs, fmt.Errorf("-only must be of %s, not %q", strings.Join(paths, ","), path))
		}
	}
	if o.happy < minMessages {
		errs = append(errs, fmt.Errorf("-messages must be at least %d, not %d", minMessages, o.happy))
	}
	if o.memory && o.soak < 2*firstMark {
		errs = append(errs, fmt.Errorf("-memory-messages must be at least %d, not %d", 2*firstMark, o.soak))
	}
	if len(o.servers) == 0 && !o.jetstream && len(o.only) > 0 {
		errs = append(errs, errors.New("no broker: add jetstream to -brokers, set HOLDFAST_RABBITMQ4_URL and HOLDFAST_RABBITMQ4_MANAGEMENT_URL, or run make services"))
	}
	return errors.Join(errs...)
}

func (o options) wants(path string) bool { return slices.Contains(o.only, path) }

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
