package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// options is what a run measures, and on what.
type options struct {
	amqp, postgres string // URLs

	parts     []string
	only      []string // contestants; all when empty
	rows      int
	rounds    int
	published int
	queue     string
}

var parts = []string{"relay", "add"}

func readOptions(args []string) (options, error) {
	var o options
	var wanted, only string
	f := flag.NewFlagSet("bench/outbox", flag.ContinueOnError)
	f.StringVar(&wanted, "parts", strings.Join(parts, ","), "the `parts` to measure: the relay, and what outbox.Add costs")
	f.StringVar(&only, "only", "", "of the relay the `contestants` to measure, such as holdfast,bare; all when empty: "+strings.Join(names(contestants()), ","))
	f.IntVar(&o.rows, "rows", 20_000, "rows in a run of the relay; slow contestants get fewer")
	f.IntVar(&o.rounds, "rounds", 3, "how often each contestant runs")
	f.IntVar(&o.published, "published", 1_000_000, "published rows in the table of the contestant that has some")
	f.StringVar(&o.queue, "queue", "classic", "the `kind` of the queue that is published to: classic or quorum")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.parts, o.only = fields(wanted), fields(only)
	file := readServices()
	o.amqp, o.postgres = setting(file, "HOLDFAST_RABBITMQ4_URL"), setting(file, "HOLDFAST_POSTGRES")
	return o, o.check()
}

func (o options) check() error {
	var errs []error
	unknown := func(flag string, given, known []string) {
		for _, name := range given {
			if !slices.Contains(known, name) {
				errs = append(errs, fmt.Errorf("-%s must be of %s, not %q", flag, strings.Join(known, ","), name))
			}
		}
	}
	atLeast := func(flag string, n, least int) {
		if n < least {
			errs = append(errs, fmt.Errorf("-%s must be at least %d, not %d", flag, least, n))
		}
	}
	unknown("parts", o.parts, parts)
	unknown("only", o.only, names(contestants()))
	unknown("queue", []string{o.queue}, []string{"classic", "quorum"})
	atLeast("rows", o.rows, 10_000)
	atLeast("rounds", o.rounds, 1)
	atLeast("published", o.published, 1)
	if o.amqp == "" || o.postgres == "" {
		errs = append(errs, errors.New("no servers: set HOLDFAST_RABBITMQ4_URL and HOLDFAST_POSTGRES, or run make services"))
	}
	return errors.Join(errs...)
}

func (o options) wants(part string) bool { return slices.Contains(o.parts, part) }

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func setting(file map[string]string, key string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return file[key]
}

// readServices reads .services.env in the working directory or above it.
func readServices() map[string]string {
	env := map[string]string{}
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if f, err := os.Open(filepath.Join(dir, ".services.env")); err == nil {
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				if key, value, ok := strings.Cut(lines.Text(), "="); ok {
					env[key] = value
				}
			}
			return env
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return env
}
