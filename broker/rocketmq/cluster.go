package rocketmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
)

// cluster has a connection to each name server and broker that was needed.
type cluster struct {
	conf    Config
	dialing chan struct{} // a place to stand in: one dials at a time

	mu     sync.Mutex
	closed bool
	conns  map[string]*conn
}

func newCluster(conf Config) *cluster {
	return &cluster{conf: conf, dialing: make(chan struct{}, 1), conns: map[string]*conn{}}
}

// to returns the connection to an address, and makes one where none lives.
func (c *cluster) to(ctx context.Context, addr string) (*conn, error) {
	if found, err := c.living(addr); found != nil || err != nil {
		return found, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found, err := c.living(addr); found != nil || err != nil {
		return found, err
	}
	made, err := dial(ctx, c.conf, addr)
	if err != nil {
		return nil, err
	}
	if !c.keep(addr, made) {
		made.close()
		return nil, fmt.Errorf("rocketmq: %w", broker.ErrClosed)
	}
	return made, nil
}

func (c *cluster) keep(addr string, made *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.conns[addr] = made
	return true
}

func (c *cluster) living(addr string) (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("rocketmq: %w", broker.ErrClosed)
	}
	if found := c.conns[addr]; found != nil && found.alive() {
		return found, nil
	}
	return nil, nil
}

func (c *cluster) close() {
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, conn := range conns {
		conn.close()
	}
}

// site is a broker that has a topic.
type site struct {
	name   string
	conn   *conn
	queues int // to read
}

// route is a name server's answer.
type route struct {
	BrokerDatas []struct {
		BrokerName  string            `json:"brokerName"`
		BrokerAddrs map[string]string `json:"brokerAddrs"`
	} `json:"brokerDatas"`
	QueueDatas []struct {
		BrokerName    string `json:"brokerName"`
		ReadQueueNums int    `json:"readQueueNums"`
	} `json:"queueDatas"`
}

// master is the number under which the broker of a group that takes writes is
// known.
const master = "0"

// sites connects to all brokers that have a topic and answer. The others are
// told as faults: a cluster goes on without one of its brokers.
func (c *cluster) sites(ctx context.Context, topic string) (found []*site, faults []string, err error) {
	r, err := c.route(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	var last error
	for _, q := range r.QueueDatas {
		addr := r.master(q.BrokerName)
		if addr == "" {
			faults = append(faults, "broker "+q.BrokerName+" has no master now")
			continue
		}
		conn, err := c.to(ctx, addr)
		if err != nil {
			faults, last = append(faults, fmt.Sprintf("broker %s does not answer: %v", q.BrokerName, err)), err
			continue
		}
		found = append(found, &site{name: q.BrokerName, conn: conn, queues: q.ReadQueueNums})
	}
	if len(found) == 0 {
		if last == nil {
			last = fmt.Errorf("rocketmq: topic %s: %w: %s", topic, broker.ErrUnreachable, strings.Join(faults, "; "))
		}
		return nil, nil, last
	}
	slices.SortFunc(found, func(a, b *site) int { return strings.Compare(a.name, b.name) })
	return found, faults, nil
}

func (r *route) master(name string) string {
	for _, b := range r.BrokerDatas {
		if b.BrokerName == name {
			return b.BrokerAddrs[master]
		}
	}
	return ""
}

// route asks the name servers, one after the other, until one answers.
func (c *cluster) route(ctx context.Context, topic string) (r *route, err error) {
	var errs []error
	for _, addr := range c.conf.nameServers {
		conn, err := c.to(ctx, addr)
		if err == nil {
			var a *command
			a, err = conn.wait(ctx, command{code: askRoute, fields: map[string]string{"topic": topic, "acceptStandardJsonOnly": "true"}})
			if err == nil {
				return readRoute(a.body)
			}
		}
		if codeOf(err) >= 0 || errors.Is(err, broker.ErrClosed) || ctx.Err() != nil {
			return nil, classify("find topic "+topic, err)
		}
		errs = append(errs, err)
	}
	return nil, classify("find topic "+topic, errors.Join(errs...))
}

func readRoute(body []byte) (*route, error) {
	r := &route{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("rocketmq: a route cannot be read: %w: %w", broker.ErrUnreachable, err)
	}
	return r, nil
}
