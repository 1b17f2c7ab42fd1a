package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const within = 60 * time.Second

// built is the binary under test. It stays in a folder of the first test that
// asked until the process ends.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-doctor")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "holdfast")
	out, err := exec.Command("go", "build", "-o", file, "github.com/holdfast-mq/holdfast/cmd/holdfast").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(code)
}

// clinic is a virtual host with what the doctor is told of it.
type clinic struct {
	t          *testing.T
	server     testenv.RabbitMQ
	url        string // AMQP, as an administrator
	management string
	secrets    []string // must not be in any output
	ch         *amqp.Channel
}

// onEachClinic runs test on every RabbitMQ that is there.
func onEachClinic(t *testing.T, test func(c *clinic)) {
	t.Helper()
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			c := &clinic{t: t, server: r, url: r.VHost(t), management: r.ManagementURL}
			c.hide(c.url)
			c.hide(c.management)
			c.connect()
			test(c)
		})
	}
}

func (c *clinic) connect() {
	c.t.Helper()
	conn, err := amqp.Dial(c.url)
	if err != nil {
		c.t.Fatal("no connection") // the error may have the URL
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	if c.ch, err = conn.Channel(); err != nil {
		c.t.Fatal(err)
	}
}

// hide remembers the password of an URL.
func (c *clinic) hide(address string) {
	c.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		c.t.Fatal("an URL cannot be read")
	}
	// guest is a word of texts, too.
	if password, _ := u.User.Password(); password != "" && password != u.User.Username() {
		c.secrets = append(c.secrets, password)
	}
}

// user makes one with a tag, who may see everything of the virtual host, and
// returns the URL of the management API for them.
func (c *clinic) user(tag string) (management, amqpURL string) {
	c.t.Helper()
	amqpURL = c.server.User(c.t, c.url, "doctor", "", "", ".*")
	u, err := url.Parse(amqpURL)
	if err != nil {
		c.t.Fatal("an URL cannot be read")
	}
	password, _ := u.User.Password()
	c.server.Management(c.t, http.MethodPut, "/api/users/"+u.User.Username(), map[string]string{"password": password, "tags": tag}, nil)
	c.hide(amqpURL)
	return c.managementAs(u.User), amqpURL
}

func (c *clinic) managementAs(user *url.Userinfo) string {
	c.t.Helper()
	u, err := url.Parse(c.management)
	if err != nil {
		c.t.Fatal("an URL cannot be read")
	}
	u.User = user
	return u.String()
}

// declareFaulty makes a queue with a dead-letter exchange of its own, which does
// not exist.
func (c *clinic) declareFaulty(name string) {
	c.t.Helper()
	args := amqp.Table{"x-queue-type": "quorum", "x-dead-letter-exchange": "nowhere." + name}
	if _, err := c.ch.QueueDeclare(name, true, false, false, false, args); err != nil {
		c.t.Fatal(err)
	}
}

// examination is one run of the command.
type examination struct {
	cmd    *exec.Cmd
	out    *stream
	errOut *stream
	code   int
}

// stream is an output that may be read while it is written.
type stream struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// start starts holdfast doctor on the clinic; env comes after what a person
// would have set.
func (c *clinic) start(env []string, args ...string) *examination {
	c.t.Helper()
	file, err := built()
	if err != nil {
		c.t.Fatal(err)
	}
	e := &examination{cmd: exec.Command(file, append([]string{"doctor"}, args...)...), out: &stream{}, errOut: &stream{}}
	e.cmd.Env = append(os.Environ(), "AMQP_URL=", "DATABASE_URL=", "HOLDFAST_STORE=", "HOLDFAST_PROMETHEUS=", "NO_COLOR=",
		"HOLDFAST_BROKER="+c.url, "HOLDFAST_MANAGEMENT="+c.management)
	e.cmd.Env = append(e.cmd.Env, env...)
	e.cmd.Stdout, e.cmd.Stderr = e.out, e.errOut
	if err := e.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	// Of a process that was waited for, Kill does nothing.
	c.t.Cleanup(func() { _ = e.cmd.Process.Kill() })
	return e
}

func (c *clinic) wait(e *examination) *examination {
	c.t.Helper()
	err := e.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	e.code = e.cmd.ProcessState.ExitCode()
	for _, secret := range c.secrets {
		if strings.Contains(e.text(), secret) {
			c.t.Errorf("%v prints a password", e.cmd.Args[1:])
		}
	}
	return e
}

// examine runs holdfast doctor with one look, to its end.
func (c *clinic) examine(args ...string) *examination {
	c.t.Helper()
	return c.examineWith(nil, args...)
}

func (c *clinic) examineWith(env []string, args ...string) *examination {
	c.t.Helper()
	return c.wait(c.start(env, append([]string{"--observe", "0"}, args...)...))
}

func (e *examination) text() string { return e.out.String() + e.errOut.String() }

func (c *clinic) want(e *examination, code int, contains ...string) {
	c.t.Helper()
	if e.code != code {
		c.t.Errorf("%v: exit code %d, want %d\n%s", e.cmd.Args[1:], e.code, code, e.text())
	}
	// Texts are broken into lines.
	flat := strings.Join(strings.Fields(e.text()), " ")
	for _, text := range contains {
		if !strings.Contains(flat, text) {
			c.t.Errorf("%v does not say %q:\n%s", e.cmd.Args[1:], text, e.text())
		}
	}
}

func (c *clinic) wantNot(e *examination, texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if strings.Contains(e.text(), text) {
			c.t.Errorf("%v says %q:\n%s", e.cmd.Args[1:], text, e.text())
		}
	}
}

// objects are the lines of --output json.
func (c *clinic) objects(e *examination) []map[string]any {
	c.t.Helper()
	var all []map[string]any
	for line := range strings.Lines(e.out.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			c.t.Fatalf("%v\n%s", err, line)
		}
		all = append(all, o)
	}
	return all
}

// deadAddress is one where nobody listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
