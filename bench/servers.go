package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
)

const servicesFile = ".services.env"

// server is one broker to measure on.
type server struct {
	label      string // for people
	url        string
	management string
}

// findServers returns those of the named brokers that are set in the
// environment or, where that is silent, in the services file.
func findServers(names []string) []server {
	file := readServices()
	get := func(key string) string {
		if v := os.Getenv(key); v != "" {
			return v
		}
		return file[key]
	}
	var found []server
	for _, name := range names {
		prefix := "HOLDFAST_" + strings.ToUpper(name)
		s := server{label: name, url: get(prefix + "_URL"), management: get(prefix + "_MANAGEMENT_URL")}
		if s.url == "" || s.management == "" {
			say("%s does not run: left out", name)
			continue
		}
		found = append(found, s)
	}
	return found
}

// readServices reads the file in the working directory or above it.
func readServices() map[string]string {
	env := map[string]string{}
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if f, err := os.Open(filepath.Join(dir, servicesFile)); err == nil {
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

// identify returns s with the product and version as its label.
func (s server) identify(ctx context.Context) (server, error) {
	conn, err := dial(ctx, s.url)
	if err != nil {
		return s, err
	}
	s.label = "RabbitMQ " + versionOf(conn)
	return s, conn.Close()
}
