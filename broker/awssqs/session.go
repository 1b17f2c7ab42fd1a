package awssqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// session implements [broker.Session].
type session struct {
	broker *Broker
	client *client
	sub    broker.Subscription
	source found
	hold   *returner

	acks   *batcher[acked]
	hides  *batcher[hidden]
	copies map[string]*batcher[copied] // by the queue that they go to

	ctx  context.Context // ends with the session
	stop context.CancelFunc
	done chan struct{}
	work sync.WaitGroup // the session's goroutines

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when something below changes
	err     error
	intake
	open    map[*delivery]struct{}
	handed  int // settlements under way
	clamped bool
	unkept  error // what the last extension of a lease met; nil when it was had
}

var _ broker.Session = (*session)(nil)

func newSession(b *Broker, sub broker.Subscription, f found, urls map[string]string) *session {
	s := &session{
		broker: b, client: b.client, sub: sub, source: f, copies: map[string]*batcher[copied]{},
		done: make(chan struct{}), changed: make(chan struct{}), open: map[*delivery]struct{}{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.sub.Rungs = slices.Clone(sub.Rungs)
	s.busy = map[string]bool{}
	s.acks = &batcher[acked]{send: s.acknowledge}
	s.hides = &batcher[hidden]{send: s.changeVisibility}
	for queue, url := range urls {
		s.copies[queue] = &batcher[copied]{send: func(batch []copied) { s.send(url, batch) }, weigh: copied.size}
	}
	s.hold = newReturner(s, urls[b.names.holdOf(sub.Queue)])
	return s
}

func (s *session) start() {
	s.work.Go(s.receive)
	s.work.Go(s.keepLeases)
	s.work.Go(s.hold.run)
}

func (s *session) Capabilities() broker.Capabilities {
	return broker.Capabilities{
		Broker: "Amazon SQS", Delay: true, Hold: true, Stamp: true, Counts: true, Attempts: true, NativeLimit: s.source.limit,
	}
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wake tells whoever waits for a change to look again. The lock is held.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until ok, which is called with the lock held, or until the
// session or ctx ends.
func (s *session) await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		met, err, changed := ok(), s.err, s.changed
		s.mu.Unlock()
		switch {
		case met:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Probe asks for the queue. That receives are answered is watched all the
// time; where the queue may not be asked for, it is all that is known.
func (s *session) Probe(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	a, err := s.client.attributes(ctx, s.source.url)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	case errors.Is(err, broker.ErrPermission):
		return nil
	case err != nil:
		return err
	case s.source.created != "" && a[attrCreated] != s.source.created:
		return fmt.Errorf("awssqs: queue %s was made anew: %w", s.sub.Queue, broker.ErrDetached)
	}
	return nil
}

// Close gives back what is not settled by ending its visibility timeout, which
// SQS counts as it would count the end of the lease, and which lets others
// have it at once.
func (s *session) Close(ctx context.Context) error {
	err := s.Pause(ctx)
	if err == nil {
		err = s.await(ctx, func() bool { return s.handed == 0 })
	}
	over := s.Err() != nil
	s.end(broker.ErrClosed)
	s.wait(ctx)
	if err != nil && !over {
		return fmt.Errorf("awssqs: settlements were cut off: %w", err)
	}
	return nil
}

// wait waits for the goroutines of a session that has ended.
func (s *session) wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// end ends the session and gives back what is open.
func (s *session) end(reason error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = reason
	s.prefetch = 0
	close(s.done)
	s.wake()
	list := s.abandon()
	s.work.Go(func() { s.giveBack(list) })
	s.mu.Unlock()
	s.stop()
	s.broker.remove(s)
}

// abandon takes all open deliveries out of the session, oldest first. The lock
// is held.
func (s *session) abandon() []*delivery {
	var list []*delivery
	for d := range s.open {
		if d.state == stateOpen {
			d.state = stateSettled
			list = append(list, d)
			delete(s.open, d)
		}
	}
	s.buffer = nil
	slices.SortFunc(list, func(a, b *delivery) int { return a.order - b.order })
	return list
}

const giveBackTime = 5 * time.Second

// giveBack ends the visibility timeouts of deliveries. Whatever stands in the
// way, the end of the lease does it too.
func (s *session) giveBack(list []*delivery) {
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
	defer cancel()
	for batch := range slices.Chunk(list, maxBatch) {
		hidings := make([]hiding, len(batch))
		for i, d := range batch {
			hidings[i] = hiding{receipt: d.letter.receipt}
		}
		_ = s.client.hide(ctx, s.source.url, hidings)
	}
}

func (s *session) notify(kind broker.NoticeKind, text string) {
	if s.sub.Notify != nil {
		s.sub.Notify(broker.Notice{Kind: kind, Text: text})
	}
}

func (s *session) warn(text string) { s.notify(broker.NoticeWarning, text) }
