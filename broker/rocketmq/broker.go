package rocketmq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is one RocketMQ cluster. Its connections are made when they are
// needed, and shared by all sessions. It may be used from many goroutines at
// once.
type Broker struct {
	conf    Config
	names   names
	cluster *cluster
	client  string // how brokers know us

	mu       sync.Mutex
	closed   bool
	sessions map[*session]bool
	lost     map[source][]lostDelivery
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
)

// lostDelivery is one that was open when its connection was lost.
type lostDelivery struct {
	handle  handle
	touched time.Time
}

// Open checks conf and connects nothing: a cluster that is down is the first
// session's error. An error is of class [broker.ErrConfig] and has one line
// for each fault.
func Open(_ context.Context, conf Config) (*Broker, error) {
	conf = conf.withDefaults()
	if err := conf.check(); err != nil {
		return nil, err
	}
	return &Broker{
		conf: conf, names: newNames(conf.Namespace), cluster: newCluster(conf),
		client:   conf.Name + "@" + strconv.FormatInt(time.Now().UnixNano(), 36),
		sessions: map[*session]bool{}, lost: map[source][]lostDelivery{},
	}, nil
}

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	src, err := parseSource(sub.Queue)
	if err != nil {
		return nil, err
	}
	for _, rung := range sub.Rungs {
		if rung < time.Millisecond {
			return nil, fmt.Errorf("%w: rocketmq: Subscription.Rungs must be 1ms or more, not %v", broker.ErrConfig, rung)
		}
	}
	f, err := b.find(ctx, src)
	if err != nil {
		return nil, err
	}
	if err := f.ensure(ctx, b.names); err != nil {
		return nil, err
	}
	s := newSession(b, sub, f)
	if !b.add(s) {
		return nil, fmt.Errorf("rocketmq: %w", broker.ErrClosed)
	}
	b.returnLost(s)
	s.start()
	return s, nil
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	sessions := slices.Collect(maps.Keys(b.sessions))
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), b.conf.CallTimeout)
	defer cancel()
	for _, s := range sessions {
		s.stopAsking()
	}
	for _, s := range sessions {
		_ = s.Pause(ctx) // what a pop still brings is given back too
		s.giveBack(ctx)
		s.end(broker.ErrClosed)
	}
	for _, s := range sessions {
		s.closed.Wait()
	}
	b.cluster.close()
	return nil
}

func (b *Broker) add(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.sessions[s] = true
	return true
}

func (b *Broker) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s)
}

// lose remembers a delivery that a lost connection left open.
func (b *Broker) lose(src source, d lostDelivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[src] = append(b.lost[src], d)
}

// returnLost gives back what an earlier session of this process has lost, so
// that nobody waits for the end of the lease. What may have reached that end
// is somebody else's by now.
func (b *Broker) returnLost(s *session) {
	b.mu.Lock()
	list := b.lost[s.source.source]
	delete(b.lost, s.source.source)
	b.mu.Unlock()
	for _, d := range list {
		at := s.site(d.handle.broker)
		if at == nil || time.Since(d.touched) > b.conf.Lease*9/10 {
			continue // the end of the lease does it
		}
		at.conn.hide(d.handle, s.source.group, 0, func(handle, error) {})
	}
}

// ParkedPlace is where messages from queue are parked: a topic of its own.
func (b *Broker) ParkedPlace(queue string) (name string, shared bool) {
	s, err := parseSource(queue)
	if err != nil {
		return queue, false // nothing is parked for what is no queue
	}
	return b.names.parked(s), false
}

// HoldPlace is where held messages of queue wait: in the broker's timer, where
// nobody can look.
func (b *Broker) HoldPlace(queue string) string { return queue + holdSuffix }
