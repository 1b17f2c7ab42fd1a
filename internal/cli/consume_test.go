package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func (f *fake) send(n int) {
	f.t.Helper()
	for range n {
		if err := f.Publish(context.Background(), broker.Target{Queue: "orders"}, &broker.Message{Body: []byte("x")}); err != nil {
			f.t.Fatal(err)
		}
	}
}

func TestConsume_exec(t *testing.T) {
	f := newFake(t)
	f.send(3)
	r := f.run("consume", "--queue", "orders", "--exec", "echo broken >&2; exit 65", "--until-idle", "100ms")
	f.want(r, exitOK, "received 3: done 0, delayed 0, held 0, parked 3, discarded 0, released 0, in flight 0",
		`msg="holdfast: parked"`, "exit code 65: broken")
	f.depth("orders.parked", 3)
	f.send(1)
	r = f.run("consume", "--queue", "orders", "--exec", "exit 0", "--until-idle", "100ms", "--output", "json", "--log", "json")
	f.want(r, exitOK, `"done":1`, `{"time":"`)
}

func TestConsume_http(t *testing.T) {
	f := newFake(t)
	f.send(4)
	var mu sync.Mutex
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if calls <= 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer s.Close()
	r := f.run("consume", "--queue", "orders", "--http", s.URL, "--ladder", "10ms", "--until-idle", "300ms")
	f.want(r, exitOK, "received 6: done 4, delayed 2, held 0, parked 0")
}

func TestConsume_answers_requests(t *testing.T) {
	f := newFake(t)
	f.DeclareQueue("caller")
	err := f.Publish(context.Background(), broker.Target{Queue: "orders"},
		&broker.Message{Body: []byte("6*7"), ReplyTo: "caller", CorrelationID: "c-1"})
	if err != nil {
		t.Fatal(err)
	}
	f.want(f.run("consume", "--queue", "orders", "--request", "--exec", "printf 42", "--until-idle", "100ms"), exitOK, "done 1")
	got := f.Messages("caller")
	if len(got) != 1 || string(got[0].Message.Body) != "42" || got[0].Message.CorrelationID != "c-1" {
		t.Errorf("the caller got %+v", got)
	}
}

func TestConsume_of_a_queue_that_is_not_there(t *testing.T) {
	f := newFake(t)
	f.want(f.run("consume", "--queue", "gone", "--exec", "exit 0"), exitUsage, "no such queue", "received 0")
}

// log is a log that several goroutines may write and one may read.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a command in the background.
func (f *fake) start(signals chan os.Signal, exit func(int), args ...string) (errOut *log, ended chan int) {
	env := f.env
	errOut, ended = &log{}, make(chan int, 1)
	env.Args, env.Stdin, env.Stdout, env.Stderr = args, strings.NewReader(""), io.Discard, errOut
	env.Signals, env.Exit = signals, exit
	go func() { ended <- Run(f.t.Context(), env) }()
	return errOut, ended
}

func TestConsume_serves_its_health(t *testing.T) {
	f := newFake(t)
	signals := make(chan os.Signal, 1)
	errOut, ended := f.start(signals, f.env.Exit, "consume", "--queue", "orders", "--exec", "exit 0", "--health-addr", "127.0.0.1:0")
	address := regexp.MustCompile(`address=(\S+)`)
	var base string
	testenv.Eventually(t, 10*time.Second, "the address is logged", func() bool {
		m := address.FindStringSubmatch(errOut.String())
		if m != nil {
			base = "http://" + m[1]
		}
		return m != nil
	})
	var h holdfast.Health
	testenv.Eventually(t, 10*time.Second, "/health answers 200", func() bool { return get(t, base+"/health", &h) == http.StatusOK })
	if h.Queue != "orders" || h.State != holdfast.StateAttached {
		t.Errorf("health %+v", h)
	}
	f.Stop()
	testenv.Eventually(t, 10*time.Second, "/health answers 503", func() bool { return get(t, base+"/health", &h) == http.StatusServiceUnavailable })
	var b holdfast.Books
	if code := get(t, base+"/books", &b); code != http.StatusOK || !b.Balanced() {
		t.Errorf("books %+v, %d", b, code)
	}
	f.Start()
	signals <- os.Interrupt
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
}

func get(t *testing.T, url string, into any) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func TestConsume_ends_at_once_at_the_second_signal(t *testing.T) {
	f := newFake(t)
	f.send(1)
	gate := httptest.NewUnstartedServer(nil)
	running, release := make(chan struct{}), make(chan struct{})
	gate.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(running)
		<-release
	})
	gate.Start()
	defer gate.Close()
	signals, exited := make(chan os.Signal, 1), make(chan int, 1)
	errOut, ended := f.start(signals, func(code int) { exited <- code }, "consume", "--queue", "orders", "--http", gate.URL)
	<-running
	signals <- syscall.SIGTERM
	testenv.Eventually(t, 10*time.Second, "it says that it stops", func() bool { return strings.Contains(errOut.String(), "holdfast: stopping") })
	signals <- syscall.SIGTERM
	if code := <-exited; code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	close(release) // what runs may end: here the process lives on
	<-ended
}
