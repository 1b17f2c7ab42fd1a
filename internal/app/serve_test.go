package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// seeing is a lookout whose looks the test makes.
func seeing(t *testing.T, look func(before *management.Snapshot) (*doctor.Facts, error)) *Lookout {
	t.Helper()
	return NewLookout(LookoutConfig{
		Every: 30 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Examine: func(_ context.Context, before *management.Snapshot) (*doctor.Facts, error) { return look(before) },
	})
}

// ask returns the status and the body that a path answers with.
func ask(t *testing.T, l *Lookout, path string) (code int, body map[string]any) {
	t.Helper()
	answer := httptest.NewRecorder()
	l.Handler(http.NotFoundHandler()).ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v: %s", path, err, answer.Body)
	}
	return answer.Code, body
}

// answers fails the test unless the path answers so, with the text in its error.
func answers(t *testing.T, l *Lookout, path string, want int, says string) {
	t.Helper()
	code, body := ask(t, l, path)
	if code != want || !strings.Contains(fmt.Sprint(body["error"]), says) {
		t.Errorf("%s answers %d %v, not %d", path, code, body, want)
	}
}

// TestLookout_of_a_broker_that_goes_down_and_comes_back never ends by itself,
// tells the broker's absence, and keeps the last findings with a word on it.
func TestLookout_of_a_broker_that_goes_down_and_comes_back(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		l := seeing(t, func(*management.Snapshot) (*doctor.Facts, error) {
			if down.Load() {
				return nil, fmt.Errorf("nobody answers: %w", broker.ErrUnreachable)
			}
			return &doctor.Facts{RabbitMQ: &management.Snapshot{}}, nil
		})
		answers(t, l, "/health/ready", 503, "")
		answers(t, l, "/findings", 503, "")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		synctest.Wait()
		first := time.Now()
		if look := l.Look(); !look.Up || !look.ExaminedAt.Equal(first) {
			t.Errorf("it saw %+v", look)
		}
		answers(t, l, "/health", 200, "")

		down.Store(true)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if look := l.Look(); look.Up || !look.ExaminedAt.Equal(first) || look.Queues != nil {
			t.Errorf("of a broker that is down it tells %+v", look)
		}
		answers(t, l, "/health/ready", 503, "nobody answers")
		answers(t, l, "/health/live", 200, "nobody answers")
		answers(t, l, "/findings", 200, "nobody answers")

		down.Store(false)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if look := l.Look(); !look.Up || look.ExaminedAt.Equal(first) {
			t.Errorf("after it came back it tells %+v", look)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestLookout_gives_each_look_the_one_before, so that growth can be told without
// waiting for a second look.
func TestLookout_gives_each_look_the_one_before(t *testing.T) {
	t.Parallel()
	var befores, all []*management.Snapshot
	l := seeing(t, func(before *management.Snapshot) (*doctor.Facts, error) {
		befores, all = append(befores, before), append(all, &management.Snapshot{})
		return &doctor.Facts{RabbitMQ: all[len(all)-1]}, nil
	})
	l.look(t.Context())
	l.look(t.Context())
	if befores[0] != nil || befores[1] != all[0] {
		t.Errorf("the looks before are %p and %p", befores[0], befores[1])
	}
}

// TestLookout_of_a_broker_that_is_missed beside a database that answers tells
// what the database shows, and is not ready.
func TestLookout_of_a_broker_that_is_missed(t *testing.T) {
	t.Parallel()
	l := seeing(t, func(*management.Snapshot) (*doctor.Facts, error) {
		return &doctor.Facts{
			Store: &doctor.StoreFacts{}, Missed: []doctor.Source{doctor.SourceRabbitMQ}, Blind: []string{"nobody answers there"},
		}, nil
	})
	l.look(t.Context())
	if look := l.Look(); look.Up || !look.ExaminedAt.IsZero() {
		t.Errorf("it tells %+v", look)
	}
	if code, body := ask(t, l, "/health"); code != 503 || !strings.Contains(fmt.Sprint(body["blind"]), "nobody answers there") {
		t.Errorf("it answers %d %v", code, body)
	}
}

// TestLookout_that_can_never_look ends at once: failing to start is better than
// failing at night.
func TestLookout_that_can_never_look(t *testing.T) {
	t.Parallel()
	l := seeing(t, func(*management.Snapshot) (*doctor.Facts, error) { return nil, broker.ErrConfig })
	if err := l.Run(t.Context()); !errors.Is(err, broker.ErrConfig) {
		t.Errorf("it returned %v", err)
	}
}

// TestLookout_tells_the_role_of_each_queue: where dead-lettering ends is dead,
// where it waits or comes back to is not.
func TestLookout_tells_the_role_of_each_queue(t *testing.T) {
	t.Parallel()
	leads := func(exchange string) management.Arguments {
		return management.Arguments{"x-dead-letter-exchange": exchange}
	}
	s := &management.Snapshot{
		Queues: []management.Queue{
			{VHost: "/", Name: "orders", Arguments: leads("orders.dlx"), Messages: 7, Ready: 5, Unacked: 2, Consumers: 1, DeadLetter: 3},
			{VHost: "/", Name: "orders.dlq"},
			{VHost: "/", Name: "loop", Arguments: leads("wait")},
			{VHost: "/", Name: "loop.wait", Arguments: leads("back")},
			{VHost: "/", Name: "policy", Effective: management.Arguments{"dead-letter-exchange": "", "dead-letter-routing-key": "graveyard"}},
			{VHost: "/", Name: "graveyard"},
			{VHost: "/", Name: "holdfast.retry.1000", Arguments: leads("holdfast.return")},
			{VHost: "/", Name: "holdfast.unrouted"},
			{VHost: "/", Name: "plain"},
			{VHost: "/", Name: "plain.hold"},
			{VHost: "/", Name: "plain.parked"},
			{VHost: "other", Name: "orders.dlq"},
			{VHost: "/", Name: "amq.gen-4711"},
			{VHost: "/", Name: "reply", Exclusive: true},
			{VHost: "/", Name: "log", Type: "stream"},
		},
		Bindings: []management.Binding{
			{VHost: "/", Source: "orders.dlx", Destination: "orders.dlq"},
			{VHost: "other", Source: "orders.dlx", Destination: "orders.dlq"},
			{VHost: "/", Source: "wait", Destination: "loop.wait"},
			{VHost: "/", Source: "back", Destination: "loop"},
			{VHost: "/", Source: "holdfast.return", Destination: "plain"},
		},
	}
	got := map[string]string{}
	for _, q := range queueLooks(&doctor.Facts{RabbitMQ: s}) {
		got[q.VHost+" "+q.Queue] = q.Role
		if q.Queue == "orders" && (q.Messages != 7 || q.Ready != 5 || q.Unacked != 2 || q.Consumers != 1 || q.DeadLetter != 3) {
			t.Errorf("its numbers are %+v", q)
		}
	}
	want := map[string]string{
		"/ orders": "source", "/ orders.dlq": "dead", "/ loop": "source", "/ loop.wait": "source", "/ policy": "source", "/ graveyard": "dead",
		"/ holdfast.retry.1000": "rung", "/ holdfast.unrouted": "strays", "/ plain": "source", "/ plain.hold": "hold", "/ plain.parked": "parked",
		"other orders.dlq": "source",
	}
	if len(got) != len(want) {
		t.Errorf("%d queues are told, not %d: %v", len(got), len(want), got)
	}
	for name, role := range want {
		if got[name] != role {
			t.Errorf("%s is %q, not %q", name, got[name], role)
		}
	}
}

// TestLookout_tells_alarms_and_blocked_connections counts what is short.
func TestLookout_tells_alarms_and_blocked_connections(t *testing.T) {
	t.Parallel()
	f := &doctor.Facts{RabbitMQ: &management.Snapshot{
		Nodes: []management.Node{
			{Name: "a", MemoryAlarm: true, FilesUsed: 5, FilesTotal: 10},
			{Name: "b", DiskAlarm: true, FilesUsed: 10, FilesTotal: 10},
			{Name: "c"},
		},
		Connections: []management.Connection{{State: "running"}, {State: "blocked"}, {State: "blocking"}, {State: "flow"}},
	}}
	want := []telemetry.NodeLook{{Node: "a", Memory: true}, {Node: "b", Disk: true, Files: true}, {Node: "c"}}
	if got := nodeLooks(f); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if n := blockedConnections(f); n != 2 {
		t.Errorf("%d connections are blocked", n)
	}
}

// sifter has one message at the head of each queue, and counts the looks.
type sifter struct {
	broker.Sifter
	failedAt time.Time
	err      error
	looks    []string
}

func (s *sifter) Sift(ctx context.Context, queue string, o broker.SiftOptions, pick func(context.Context, *broker.Stored) (broker.Action, error)) (broker.Sifted, error) {
	s.looks = append(s.looks, queue)
	if s.err != nil {
		return broker.Sifted{}, s.err
	}
	action, err := pick(ctx, &broker.Stored{Message: &broker.Message{}, Capture: &broker.Capture{FailedAt: s.failedAt}})
	if action.Verb != broker.VerbKeep || o.Limit != 1 {
		return broker.Sifted{}, errors.New("looking is to change nothing")
	}
	return broker.Sifted{Seen: 1, Kept: 1}, err
}

// TestHeads_are_looked_at_only_where_it_is_free, once a minute, and never where
// the broker tells.
func TestHeads_are_looked_at_only_where_it_is_free(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		f := &doctor.Facts{RabbitMQ: &management.Snapshot{Queues: []management.Queue{
			{VHost: "/", Name: "told.parked", Type: "classic", Messages: 1, HeadAt: now.Add(-time.Hour)},
			{VHost: "/", Name: "empty.parked", Type: "classic"},
			{VHost: "/", Name: "classic.parked", Type: "classic", Messages: 1},
			{VHost: "/", Name: "quorum.parked", Type: "quorum", DeliveryLimit: -1, Messages: 1},
			{VHost: "/", Name: "limited.parked", Type: "quorum", DeliveryLimit: 20, Messages: 1},
			{VHost: "/", Name: "old.parked", Type: "quorum", Messages: 1},
			{VHost: "/", Name: "source", Type: "classic", Messages: 1},
			{VHost: "elsewhere", Name: "classic.parked", Type: "classic", Messages: 1},
		}}}
		s := &sifter{failedAt: now.Add(-2 * time.Minute)}
		h := &heads{sifter: s, vhost: "/"}
		h.look(t.Context(), f)
		h.look(t.Context(), f)
		if !slices.Equal(s.looks, []string{"classic.parked", "quorum.parked"}) {
			t.Errorf("it looked at %v", s.looks)
		}
		time.Sleep(headEvery)
		h.look(t.Context(), f)
		if len(s.looks) != 4 {
			t.Errorf("after a minute it has looked at %v", s.looks)
		}
		got := map[string]time.Duration{}
		for _, p := range h.ages(f, now) {
			got[p.VHost+" "+p.Queue] = p.Oldest
		}
		want := map[string]time.Duration{
			"/ told.parked": time.Hour, "/ empty.parked": 0, "/ classic.parked": 2 * time.Minute, "/ quorum.parked": 2 * time.Minute,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("ages are %v, not %v", got, want)
		}
	})
}

// TestHeads_that_cannot_be_looked_at_have_no_age, and no zero that would say
// that nothing is old.
func TestHeads_that_cannot_be_looked_at_have_no_age(t *testing.T) {
	t.Parallel()
	f := &doctor.Facts{RabbitMQ: &management.Snapshot{Queues: []management.Queue{{VHost: "/", Name: "q.parked", Type: "classic", Messages: 1}}}}
	h := &heads{sifter: &sifter{err: broker.ErrPermission}, vhost: "/"}
	h.look(t.Context(), f)
	if got := h.ages(f, time.Now()); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
