package rabbitmq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// crew is some consumers of one process, and what its readiness says.
type crew struct {
	*place
	ready http.Handler
}

func (p *place) newCrew(b *rabbitmq.Broker, queues ...string) *crew {
	p.Helper()
	var all []holdfast.Monitored
	for _, queue := range queues {
		p.declare(queue, quorum)
		p.runWorker(func(o holdfast.Observer) (worker, error) {
			c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
				Queue: queue, Observer: o, Handler: func(context.Context, *holdfast.Message) error { return nil },
			})
			if err == nil {
				all = append(all, c)
			}
			return c, err
		})
	}
	c := &crew{p, holdfast.Readiness(all...)}
	c.wantSilent()
	return c
}

// ask returns the queues that are not ready, each with the reason.
func (c *crew) ask() (silent []string) {
	c.Helper()
	w := httptest.NewRecorder()
	c.ready.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	var answer struct {
		OK     bool
		Queues []holdfast.HealthCheck
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		c.Fatal(err)
	}
	for _, q := range answer.Queues {
		if !q.OK {
			silent = append(silent, fmt.Sprintf("%s: %s", q.Queue, q.Reason))
		}
	}
	if ok := w.Code == http.StatusOK; ok != answer.OK || ok != (len(silent) == 0) {
		c.Fatalf("%d with %s", w.Code, w.Body)
	}
	return silent
}

// wantSilent waits until these and no others are not ready.
func (c *crew) wantSilent(want ...string) {
	c.Helper()
	testenv.Eventually(c, 2*patience, fmt.Sprintf("not ready: %q", want), func() bool { return slices.Equal(c.ask(), want) })
}

// TestAConsumerThatDoesNotComeBackIsNotReady: all connections are cut, and on the
// way back one of five queues may not be read any more.
func TestAConsumerThatDoesNotComeBackIsNotReady(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		userURL := r.User(t, p.url, "reader", ".*", ".*", ".*")
		u, err := url.Parse(userURL)
		if err != nil {
			t.Fatal(err)
		}
		permit := func(read string) {
			path := "/api/permissions/" + url.PathEscape(p.vhost()) + "/" + url.PathEscape(u.User.Username())
			r.Management(t, http.MethodPut, path, map[string]string{"configure": ".*", "write": ".*", "read": read}, nil)
		}
		c := p.newCrew(p.open(func(cfg *rabbitmq.Config) { cfg.URL = userURL }), "q1", "q2", "q3", "q4", "q5")
		permit("^(?!q3$)")
		r.Ctl(t, "close_all_connections", "--vhost", p.vhost(), "cut by a test")
		p.connect()
		c.wantSilent("q3: not_attached")
		permit(".*")
		c.wantSilent()
		for i := range 5 {
			queue := fmt.Sprintf("q%d", i+1)
			p.publish("", queue, amqp.Publishing{Body: []byte("a")})
			p.wantDepth(queue, 0)
		}
	})
}

// TestAQueueDeletedUnderItsConsumerIsNotReady, and nobody else's consumer is
// disturbed. It is not made again by the consumer.
func TestAQueueDeletedUnderItsConsumerIsNotReady(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		c := p.newCrew(p.open(), "kept", "deleted")
		if _, err := p.plain.QueueDelete("deleted", false, false, false); err != nil {
			t.Fatal(err)
		}
		c.wantSilent("deleted: not_attached")
		p.declare("deleted", quorum)
		c.wantSilent()
		p.publish("", "deleted", amqp.Publishing{Body: []byte("a")})
		p.wantDepth("deleted", 0)
	})
}

// TestTheBrake on queues that charge a release and on those that do not.
func TestTheBrake(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for kind, args := range map[string]amqp.Table{"quorum": quorum, "classic": nil} {
			t.Run(kind, func(t *testing.T) {
				p := newPlace(t, r)
				p.declare("orders", args)
				for i := range 200 {
					p.publish("", "orders", amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte("a")})
				}
				p.wantDepth("orders", 200)
				var well atomic.Bool
				var c *holdfast.Consumer
				told := p.runWorker(func(o holdfast.Observer) (w worker, err error) {
					c, err = holdfast.NewConsumer(p.open(), holdfast.ConsumerConfig{
						Queue: "orders", Concurrency: 4, Prefetch: 50, Observer: o, Brake: holdfast.Brake{Share: 0.5, Min: 10, Window: time.Hour},
						Handler: func(_ context.Context, m *holdfast.Message) error {
							if well.Load() {
								return nil
							}
							return holdfast.Park(errors.New("no order " + m.ID))
						},
					})
					return c, err
				})
				told.wantEvents(holdfast.EventBraked, 1)
				p.wantDepth("orders", 191)
				p.wantDepth("orders.parked", 9)
				if h := c.Health(); h.State != holdfast.StateAttached || h.Braked == "" {
					t.Errorf("health %+v", h)
				}
				well.Store(true)
				if !c.ReleaseBrake() {
					t.Error("the brake was not on")
				}
				testenv.Eventually(t, patience, "191 done", func() bool { return c.Books().Done == 191 })
				p.wantDepth("orders", 0)
				p.wantDepth("orders.parked", 9)
				for _, e := range told.of(holdfast.EventParked) {
					if !strings.Contains(e.Err.Error(), "no order") {
						t.Errorf("parked: %+v", e)
					}
				}
			})
		}
	})
}
