package testenv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	requestTimeout = 30 * time.Second
	serviceTimeout = 3 * time.Minute // above what scripts/services itself waits for a start
	logLines       = 60
)

// RabbitMQ is a private broker that the tests may break.
type RabbitMQ struct {
	Name          string // rabbitmq3 or rabbitmq4
	URL           string // amqp URL of the default vhost, with credentials
	ManagementURL string // http URL with credentials, without a path

	services string // path of scripts/services, or "" for a broker that somebody else runs
}

// Ctl runs rabbitmqctl against the broker and returns what it printed. An error of rabbitmqctl fails the test.
func (r RabbitMQ) Ctl(t testing.TB, args ...string) string {
	t.Helper()
	return r.service(t, "ctl", args...)
}

// CtlCommand is what a shell runs for rabbitmqctl against the broker.
func (r RabbitMQ) CtlCommand(t testing.TB) string {
	t.Helper()
	if r.services == "" {
		Skip(t, r.Name, "not run by scripts/services, so there is no rabbitmqctl for it")
	}
	return r.services + " ctl " + r.Name
}

// Kill ends the broker with SIGKILL. When the test ends it is started again, should the test not have done so.
func (r RabbitMQ) Kill(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { r.Start(t) })
	r.service(t, "kill")
}

// Start starts the broker after Kill, on its ports and with its data, and returns when it is ready. Of a broker that
// runs it does nothing.
func (r RabbitMQ) Start(t testing.TB) {
	t.Helper()
	r.service(t, "start")
}

// Restart stops the broker in good order, starts it again and returns when it is ready.
func (r RabbitMQ) Restart(t testing.TB) {
	t.Helper()
	r.service(t, "restart")
}

// VHost creates a virtual host for this test alone, with full permissions for the broker's own user, and returns an
// AMQP URL to it. It is deleted, with all its queues, when the test ends.
func (r RabbitMQ) VHost(t testing.TB) string {
	t.Helper()
	name := uniqueName(t.Name())
	vhostURL, user, err := inVHost(r.URL, name)
	if err != nil {
		t.Fatalf("testenv: %s: %v", r.Name, err)
	}
	path := "/api/vhosts/" + name
	r.Management(t, http.MethodPut, path, struct{}{}, nil)
	t.Cleanup(func() { r.remove(t, path) })
	r.permit(t, name, user, ".*", ".*", ".*")
	return vhostURL
}

// User creates a user who has these permissions (regular expressions over names; "" matches nothing) on the virtual
// host of vhostURL, and none elsewhere. It returns the URL with the user's credentials. The user's name begins with
// name and is unique, and the user is deleted when the test ends.
func (r RabbitMQ) User(t testing.TB, vhostURL, name, configure, write, read string) string {
	t.Helper()
	name, password := uniqueName(name), randomHex(8)
	userURL, vhost, err := asUser(vhostURL, name, password)
	if err != nil {
		t.Fatalf("testenv: %s: %v", r.Name, err)
	}
	path := "/api/users/" + name
	r.Management(t, http.MethodPut, path, map[string]string{"password": password, "tags": ""}, nil)
	t.Cleanup(func() { r.remove(t, path) })
	r.permit(t, vhost, name, configure, write, read)
	return userURL
}

func (r RabbitMQ) permit(t testing.TB, vhost, user, configure, write, read string) {
	t.Helper()
	path := "/api/permissions/" + url.PathEscape(vhost) + "/" + url.PathEscape(user)
	r.Management(t, http.MethodPut, path,
		map[string]string{"configure": configure, "write": write, "read": read}, nil)
}

// Management makes one call to the management API. The path begins with /api/, its parts escaped (the default vhost is
// %2F). body, unless nil, is sent as JSON; the answer's JSON is read into out, unless nil. An answer other than 2xx
// fails the test.
func (r RabbitMQ) Management(t testing.TB, method, path string, body, out any) {
	t.Helper()
	if err := r.call(method, path, body, out); err != nil {
		t.Fatalf("testenv: %s: %v", r.Name, err)
	}
}

// remove is for cleanups, where the rest must still be cleaned up after an error.
func (r RabbitMQ) remove(t testing.TB, path string) {
	t.Helper()
	if err := r.call(http.MethodDelete, path, nil, nil); err != nil {
		t.Errorf("testenv: %s: cleaning up: %v", r.Name, err)
	}
}

func (r RabbitMQ) call(method, path string, body, out any) error {
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(encoded)
	}
	// Not the test's own context: cleanups run after its end.
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.ManagementURL, "/")+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// service runs one verb of scripts/services on this broker.
func (r RabbitMQ) service(t testing.TB, verb string, args ...string) string {
	t.Helper()
	if r.services == "" {
		reason := "not run by scripts/services, so it cannot be told to " + verb
		notRun(t, r.Name, reason)
		t.Skipf("%s: %s", r.Name, reason)
	}
	ctx, cancel := context.WithTimeout(context.Background(), serviceTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.services, append([]string{verb, r.Name}, args...)...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("testenv: %s %s %s: %v\n%s%s", verb, r.Name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// logging holds which broker's log a test will already show.
var logging sync.Map

type logKey struct {
	t    testing.TB
	name string
}

// logOnFailure shows the end of the broker's log, once, if the test fails.
func (r RabbitMQ) logOnFailure(t testing.TB) {
	key := logKey{t, r.Name}
	if _, twice := logging.LoadOrStore(key, true); twice || r.services == "" {
		return
	}
	t.Cleanup(func() {
		logging.Delete(key)
		if t.Failed() {
			t.Logf("the end of %s's log:\n%s", r.Name, r.logTail())
		}
	})
}

func (r RabbitMQ) logTail() string {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, r.services, "logs", r.Name).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("(no log: %v)\n%s", err, out)
	}
	return lastLines(string(out), logLines)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// inVHost returns the URL with another virtual host, and the user it connects as.
func inVHost(brokerURL, vhost string) (vhostURL, user string, err error) {
	u, err := url.Parse(brokerURL)
	if err != nil || u.User == nil {
		return "", "", fmt.Errorf("its URL has no credentials, or cannot be read")
	}
	return setVHost(u, vhost), u.User.Username(), nil
}

// asUser returns the URL with other credentials, and the virtual host it leads to.
func asUser(vhostURL, name, password string) (userURL, vhost string, err error) {
	u, err := url.Parse(vhostURL)
	if err != nil {
		return "", "", fmt.Errorf("its URL cannot be read")
	}
	u.User = url.UserPassword(name, password)
	vhost = strings.TrimPrefix(u.Path, "/")
	if vhost == "" {
		vhost = "/"
	}
	return u.String(), vhost, nil
}

func setVHost(u *url.URL, vhost string) string {
	u.Path, u.RawPath = "/"+vhost, "/"+url.PathEscape(vhost)
	return u.String()
}

// uniqueName keeps of s what needs no escaping anywhere, and makes it unique.
func uniqueName(s string) string {
	const longest = 60
	plain := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_':
			return c
		}
		return '-'
	}, s)
	return plain[:min(len(plain), longest)] + "-" + randomHex(4)
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
