package testenv

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// names are the servers of scripts/services, oldest version first.
var names = []string{"rabbitmq3", "rabbitmq4"}

// RabbitMQs returns the brokers that run, in the order rabbitmq3, rabbitmq4, and records each that does not as not run.
// A test that gets none has nothing to do and should return.
func RabbitMQs(t testing.TB) []RabbitMQ {
	t.Helper()
	var running []RabbitMQ
	for _, name := range names {
		r, reason := find(t, name)
		if reason != "" {
			notRun(t, name, reason)
			continue
		}
		running = append(running, r)
	}
	return running
}

// Need returns the broker of that name (rabbitmq3 or rabbitmq4). Where it does not run, Need records that and skips
// the test.
func Need(t testing.TB, name string) RabbitMQ {
	t.Helper()
	if !slices.Contains(names, name) {
		t.Fatalf("testenv: no server is named %q; there are %v", name, names)
	}
	r, reason := find(t, name)
	if reason != "" {
		Skip(t, name, reason)
	}
	return r
}

// Eventually polls ok every 10 ms until it is true, and fails the test after within, naming what did not happen. It is
// the only way a test waits for something that gives no signal.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Skip skips the test, and records in the list at the end of a run what could not run here and why. It is the only way
// in which a test is skipped.
func Skip(t testing.TB, name, reason string) {
	t.Helper()
	notRun(t, name, reason)
	t.Skipf("%s: %s", name, reason)
}

// find returns the broker, or the reason why there is none.
func find(t testing.TB, name string) (r RabbitMQ, reason string) {
	t.Helper()
	env, err := currentSettings()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	key := "HOLDFAST_" + strings.ToUpper(name)
	r = RabbitMQ{
		Name:          name,
		URL:           env.get(key + "_URL"),
		ManagementURL: env.get(key + "_MANAGEMENT_URL"),
		services:      env.get("HOLDFAST_SERVICES"),
	}
	if r.URL == "" || r.ManagementURL == "" {
		return RabbitMQ{}, "not running (make services)"
	}
	if err := accepts(r.URL); err != nil {
		return RabbitMQ{}, err.Error()
	}
	r.logOnFailure(t)
	return r, ""
}

// accepts tells a broker that runs from one that a file still names after a reboot.
func accepts(brokerURL string) error {
	u, err := url.Parse(brokerURL)
	if err != nil {
		return fmt.Errorf("its URL cannot be read")
	}
	conn, err := net.DialTimeout("tcp", u.Host, 2*time.Second)
	if err != nil {
		return fmt.Errorf("nobody answers at %s", u.Host)
	}
	return conn.Close()
}

// notRun appends one line to the list that scripts/test shows at the end.
func notRun(t testing.TB, name, reason string) {
	t.Helper()
	path := os.Getenv("HOLDFAST_NOT_RUN")
	if path == "" {
		return
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	if err := appendLine(path, notRunLine(name, reason, packageDir(dir))); err != nil {
		t.Fatalf("testenv: recording what was not run: %v", err)
	}
}

func notRunLine(name, reason, pkg string) string {
	return fmt.Sprintf("%s: %s (%s)", name, reason, pkg)
}

// appendLine adds the line in one write, since test binaries of several packages may share the file.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
