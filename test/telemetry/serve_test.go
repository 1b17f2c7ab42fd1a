package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/internal/cli"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// log is what a command writes, for whoever waits for a line.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serving is `holdfast serve` until the test ends.
type serving struct {
	*testing.T
	base string
	log  *log
}

func serve(t *testing.T, url, management string, args ...string) *serving {
	t.Helper()
	s := &serving{T: t, log: &log{}}
	signals, ended := make(chan os.Signal, 1), make(chan int, 1)
	env := cli.Env{
		Args:  append([]string{"serve", "--listen", "127.0.0.1:0", "--every", "1s"}, args...),
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: s.log, Signals: signals, Exit: os.Exit,
		Open: app.Open, OpenStore: app.OpenStore,
		Getenv: func(name string) string {
			return map[string]string{"HOLDFAST_BROKER": url, "HOLDFAST_MANAGEMENT": management}[name]
		},
	}
	go func() { ended <- cli.Run(context.Background(), env) }()
	t.Cleanup(func() {
		signals <- os.Interrupt
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d\n%s", code, s.log)
		}
	})
	address := regexp.MustCompile(`address=(\S+)`)
	testenv.Eventually(t, patience, "the address is logged", func() bool {
		m := address.FindStringSubmatch(s.log.String())
		if m != nil {
			s.base = "http://" + m[1]
		}
		return m != nil
	})
	return s
}

func (s *serving) get(path string) (int, string) {
	s.Helper()
	resp, err := http.Get(s.base + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// shows waits until /metrics has all of the lines.
func (s *serving) shows(lines ...string) {
	s.Helper()
	var missing []string
	defer func() {
		if s.Failed() {
			_, metrics := s.get("/metrics")
			s.Logf("not there: %q in\n%s\n%s", missing, metrics, s.log)
		}
	}()
	testenv.Eventually(s, patience, "the metrics", func() bool {
		_, metrics := s.get("/metrics")
		missing = nil
		for _, line := range lines {
			if !regexp.MustCompile("(?m)^" + line + "$").MatchString(metrics) {
				missing = append(missing, line)
			}
		}
		return len(missing) == 0
	})
}

// parkOne runs a consumer that parks one message, and ends it.
func parkOne(t *testing.T, url string) {
	t.Helper()
	b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Publish(t.Context(), broker.Target{Queue: queue}, &broker.Message{ID: "m1", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:   queue,
		Handler: func(context.Context, *holdfast.Message) error { return holdfast.Park(errFailed) },
		Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
			if e.Kind == holdfast.EventParked {
				stop()
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func vhostOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// TestServe_tells_what_a_broker_has: queues by role, and how old the oldest
// parked message is where that costs nothing.
func TestServe_tells_what_a_broker_has(t *testing.T) {
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			url := r.VHost(t)
			declare(t, url)
			parkOne(t, url)
			s := serve(t, url, r.ManagementURL)
			label := func(queue, role string) string {
				return `\{queue="` + queue + `",role="` + role + `",vhost="` + vhostOf(url) + `"\}`
			}
			s.shows(
				`holdfast_broker_up 1`,
				`holdfast_examined_timestamp_seconds \S+`,
				`holdfast_queue_messages`+label(queue, "source")+` 0`,
				`holdfast_queue_messages`+label(queue+".parked", "parked")+` 1`,
				`holdfast_queue_ready`+label(queue+".parked", "parked")+` 1`,
				`holdfast_queue_consumers`+label(queue, "source")+` 0`,
				`holdfast_queue_dead_letter_messages`+label("holdfast.retry.1000", "rung")+` 0`,
				`holdfast_queue_messages`+label("holdfast.unrouted", "strays")+` 0`,
				`holdfast_queue_messages`+label(queue+".hold", "hold")+` 0`,
				`holdfast_node_alarm\{node="[^"]+",resource="memory"\} 0`,
				`holdfast_connections_blocked 0`,
			)
			oldest := `holdfast_parked_oldest_seconds\{queue="work\.parked",vhost="` + vhostOf(url) + `"\} `
			if r.Name == "rabbitmq4" {
				s.shows(oldest + `[0-9.e+-]*[1-9][0-9.e+-]*`)
			} else if _, metrics := s.get("/metrics"); regexp.MustCompile(oldest).MatchString(metrics) {
				t.Error("a look that a delivery limit may count was taken")
			}
			for path, want := range map[string]int{"/health": 200, "/health/live": 200, "/health/ready": 200, "/findings": 200} {
				code, body := s.get(path)
				if code != want || !json.Valid([]byte(body)) {
					t.Errorf("%s answers %d %s", path, code, body)
				}
			}
			noSecret(t, s, r)
		})
	}
}

func noSecret(t *testing.T, s *serving, r testenv.RabbitMQ) {
	t.Helper()
	all := s.log.String()
	for _, path := range []string{"/metrics", "/health", "/findings"} {
		_, body := s.get(path)
		all += body
	}
	if strings.Contains(all, "guest:guest") || strings.Contains(all, r.ManagementURL) {
		t.Errorf("it tells who logs in how:\n%s", all)
	}
}

// TestServe_outlives_its_broker: a broker that is killed is told to be down, and
// is told to be up when it is back.
func TestServe_outlives_its_broker(t *testing.T) {
	r := testenv.Need(t, "rabbitmq4")
	url := r.VHost(t)
	s := serve(t, url, r.ManagementURL)
	s.shows(`holdfast_broker_up 1`)
	r.Kill(t)
	s.shows(`holdfast_broker_up 0`)
	if code, body := s.get("/health/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("it is ready: %s", body)
	}
	if code, _ := s.get("/health/live"); code != http.StatusOK {
		t.Error("a broker that is down is no reason to restart it")
	}
	r.Start(t)
	s.shows(`holdfast_broker_up 1`)
	if code, body := s.get("/health/ready"); code != http.StatusOK {
		t.Errorf("it is not ready again: %s", body)
	}
}
