package brokertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// What broker.Outlets and broker.Outlet promise. What ends a destination under
// way (it is deleted, a right is taken away) is each driver's own test.
var outletCases = []testCase{
	{name: "a_message_arrives_as_it_was_published", run: outletContent, hook: hasOutlets},
	{name: "an_absent_destination_is_told_at_once", run: outletMissing, hook: hasOutlets},
	{name: "no_destination_is_the_default_one_where_there_is_one", run: outletDefault, hook: hasOutlets},
	{name: "an_outlet_is_not_opened_for_one_who_has_given_up", run: outletGivenUp, hook: hasOutlets},
	{name: "5000_messages_keep_the_order_of_the_calls", run: outletOrder, hook: hasOutlets},
	{name: "many_publish_at_the_same_time", run: outletConcurrent, hook: hasOutlets},
	{name: "an_unrouted_message_disturbs_no_neighbour", run: outletUnrouted, hook: hasOutlets},
	{name: "a_close_waits_for_what_is_under_way", run: outletClose, hook: hasOutlets},
	{name: "the_end_of_one_outlet_disturbs_no_other", run: outletsApart, hook: hasOutlets},
	{name: "the_end_of_the_client_ends_its_outlets", run: outletClientClosed, hook: hasOutlets},
	{name: "cuts_leave_no_message_without_a_true_outcome", run: outletCuts, hook: hasOutlets},
	{name: "a_block_is_told_and_loses_nothing", run: outletBlocked, hook: canBlockThem, alone: true},
	{name: "a_close_while_blocked_ends", run: outletCloseBlocked, hook: canBlockThem, alone: true},
}

// way is an outlet to a queue of the case, and the key that leads there.
type way struct {
	broker.Outlet
	s        *scene
	exchange string
	key      string
	notices  *heard
}

// newWay makes a destination that leads to the queue, and opens an outlet to
// it. The queue is empty then.
func (s *scene) newWay(b broker.Broker) *way {
	s.Helper()
	exchange, key := s.env.PublishVia(s.T, s.queue, &broker.Message{Body: []byte("first"), ID: newID("first")})
	session := s.consume(s.open(), 1)
	s.mustSettle(s.receive(session), done)
	s.must(session.Close(s.ctx()))
	return s.openWay(b, exchange, key)
}

func (s *scene) openWay(b broker.Broker, exchange, key string) *way {
	s.Helper()
	w := &way{s: s, exchange: exchange, key: key, notices: &heard{}}
	o, err := b.(broker.Outlets).OpenOutlet(s.ctx(), exchange, w.notices.add)
	if err != nil {
		s.Fatalf("open an outlet to %q: %v", exchange, err)
	}
	w.Outlet = o
	s.Cleanup(func() { _ = o.Close(s.ctx()) })
	return w
}

// heard is what an outlet was told.
type heard struct {
	mu   sync.Mutex
	list []broker.NoticeKind
}

func (h *heard) add(n broker.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, n.Kind)
}

func (h *heard) has(kind broker.NoticeKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.list {
		if k == kind {
			return true
		}
	}
	return false
}

// outcomes are what came of messages 0 to n-1, of which each must have one.
type outcomes struct {
	s     *scene
	calls []atomic.Int32
	errs  []error
	left  sync.WaitGroup
	open  chan struct{} // bounds what is under way
}

// underWay is how many messages a case has under way at most.
const underWay = 256

func newOutcomes(s *scene, n int) *outcomes {
	o := &outcomes{s: s, calls: make([]atomic.Int32, n), errs: make([]error, n), open: make(chan struct{}, underWay)}
	o.left.Add(n)
	return o
}

// publish hands message i over, once there is room.
func (o *outcomes) publish(w *way, i int, key string) {
	o.open <- struct{}{}
	body := strconv.Itoa(i)
	w.Publish(key, &broker.Message{Body: []byte(body), ID: fmt.Sprintf("%s-%s", o.s.queue, body)}, func(err error) {
		if o.calls[i].Add(1) > 1 {
			o.s.Errorf("done was called twice for message %d, now with %v", i, err)
			return
		}
		o.errs[i] = err
		<-o.open
		o.left.Done()
	})
}

// all waits until each message has its outcome, and returns them.
func (o *outcomes) all() []error {
	o.s.Helper()
	over := make(chan struct{})
	go func() {
		o.left.Wait()
		close(over)
	}()
	o.s.within("each message has an outcome", over)
	return o.errs
}

// stored checks that all of them are.
func (o *outcomes) stored() {
	o.s.Helper()
	for i, err := range o.all() {
		if err != nil {
			o.s.Fatalf("message %d: %v", i, err)
		}
	}
}

// bodies waits until n messages are in the queue, and returns all that are
// there as numbers, in order. A consumer would not do: on some brokers a
// message comes again when a slow machine holds it for long.
func (s *scene) bodies(n int) []int {
	s.Helper()
	s.eventually(fmt.Sprintf("%d messages in the queue", n), func() bool { return s.waiting(s.queue) >= n })
	ctx, cancel := context.WithTimeout(context.Background(), 5*s.env.scaled(patience))
	defer cancel()
	list := make([]int, 0, n)
	_, err := s.sifter().Sift(ctx, s.queue, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		i, err := strconv.Atoi(string(m.Message.Body))
		list = append(list, i)
		return broker.Action{}, err
	})
	s.must(err)
	return list
}

func outletContent(s *scene) {
	w := s.newWay(s.b)
	want := s.rich()
	outcome := make(chan error, 2)
	w.Publish(w.key, want, func(err error) { outcome <- err })
	s.must(s.outcome(outcome))
	s.eventually("it is in the queue", func() bool { return s.waiting(s.queue) == 1 })
	got := s.stored(s.queue)[0].Message
	s.wantSame("in the queue", got, want)
	if at := (broker.Origin{Exchange: w.exchange, Key: w.key, Queue: s.queue}); got.Origin != at {
		s.Errorf("it came from %+v, not from %+v", got.Origin, at)
	}
}

func outletMissing(s *scene) {
	o, err := s.b.(broker.Outlets).OpenOutlet(s.ctx(), "absent", nil)
	s.wants(err, broker.ErrMissing)
	if o != nil {
		s.Errorf("an outlet comes with the error: %v", o)
	}
}

// outletDefault: the key of the default destination is the name of a queue.
func outletDefault(s *scene) {
	o, err := s.b.(broker.Outlets).OpenOutlet(s.ctx(), "", nil)
	if err != nil {
		s.wants(err, broker.ErrMissing)
		return
	}
	w := &way{Outlet: o, s: s}
	out := newOutcomes(s, 2)
	out.publish(w, 0, s.queue)
	out.publish(w, 1, "absent")
	errs := out.all()
	s.must(errs[0])
	s.wants(errs[1], broker.ErrUnrouted)
	s.bodies(1)
	s.must(o.Close(s.ctx()))
}

func outletGivenUp(s *scene) {
	exchange := s.newWay(s.b).exchange
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.b.(broker.Outlets).OpenOutlet(ctx, exchange, nil); err == nil {
		s.Error("it was opened")
	}
}

func outletOrder(s *scene) {
	const n = 5000
	w := s.newWay(s.b)
	out := newOutcomes(s, n)
	for i := range n {
		out.publish(w, i, w.key)
	}
	out.stored()
	list := s.bodies(n)
	if len(list) != n {
		s.Fatalf("%d messages are in the queue, not %d", len(list), n)
	}
	for i, body := range list {
		if body != i && !s.env.Unordered {
			s.Fatalf("message %d is at place %d", body, i)
		}
	}
}

func outletConcurrent(s *scene) {
	const n, each = 8, 50
	w := s.newWay(s.b)
	out := newOutcomes(s, n*each)
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() {
			for i := range each {
				out.publish(w, k*each+i, w.key)
			}
		})
	}
	all.Wait()
	out.stored()
	last := make([]int, n)
	for _, body := range s.bodies(n * each) {
		if k, i := body/each, body%each+1; i <= last[k] && !s.env.Unordered {
			s.Errorf("message %d of caller %d comes after message %d", i, k, last[k])
		} else {
			last[k] = i
		}
	}
}

// outletUnrouted has one that no queue takes between any two that one does.
func outletUnrouted(s *scene) {
	const n = 200
	w := s.newWay(s.b)
	out := newOutcomes(s, n)
	for i := range n {
		key := w.key
		if i%2 == 1 {
			key = "nobody.takes.this"
		}
		out.publish(w, i, key)
	}
	for i, err := range out.all() {
		var want error
		if i%2 == 1 {
			want = broker.ErrUnrouted
		}
		if !errors.Is(err, want) {
			s.Fatalf("message %d: %v, and it should be %v", i, err, want)
		}
	}
	if list := s.bodies(n / 2); len(list) != n/2 {
		s.Errorf("%d messages are in the queue, not %d", len(list), n/2)
	}
	if err := w.Err(); err != nil {
		s.Errorf("the outlet is over: %v", err)
	}
}

func outletClose(s *scene) {
	const n = 200
	w := s.newWay(s.b)
	if err := w.Err(); err != nil {
		s.Errorf("before its end: %v", err)
	}
	out := newOutcomes(s, n)
	for i := range n {
		out.publish(w, i, w.key)
	}
	s.must(w.Close(s.ctx()))
	s.within("it is done", w.Done())
	for i := range n {
		if out.calls[i].Load() != 1 {
			s.Fatalf("message %d had no outcome when the outlet was done", i)
		}
	}
	out.stored()
	s.wants(w.Err(), broker.ErrClosed)
	s.must(w.Close(s.ctx()))
	outcome := make(chan error, 2)
	w.Publish(w.key, &broker.Message{Body: []byte("late")}, func(err error) { outcome <- err })
	s.wants(s.outcome(outcome), broker.ErrClosed)
	s.bodies(n)
}

// outletsApart closes one outlet hard while another publishes to the same
// place.
func outletsApart(s *scene) {
	const n = 500
	ended := s.newWay(s.b)
	goesOn := s.openWay(s.b, ended.exchange, ended.key)
	first, second := newOutcomes(s, n), newOutcomes(s, n)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range n {
			first.publish(ended, i, ended.key)
		}
	})
	all.Go(func() {
		for i := range n {
			second.publish(goesOn, i, goesOn.key)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = ended.Close(ctx) // says that something was cut off, if something was
	all.Wait()
	for i, err := range first.all() {
		if err != nil && !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrUnknown) {
			s.Fatalf("message %d of the one that was closed: %v", i, err)
		}
	}
	second.stored()
	if err := goesOn.Err(); err != nil {
		s.Errorf("the other one is over, too: %v", err)
	}
}

func outletClientClosed(s *scene) {
	b := s.env.Open(s.T)
	w := s.newWay(b)
	out := newOutcomes(s, 1)
	out.publish(w, 0, w.key)
	s.must(b.Close())
	s.within("it is done", w.Done())
	s.wants(w.Err(), broker.ErrClosed)
	if err := out.all()[0]; err != nil && !errors.Is(err, broker.ErrUnknown) && !errors.Is(err, broker.ErrClosed) {
		s.Errorf("what was under way: %v", err)
	}
	if _, err := b.(broker.Outlets).OpenOutlet(s.ctx(), w.exchange, nil); !errors.Is(err, broker.ErrClosed) {
		s.Errorf("an outlet of a closed client: %v", err)
	}
}

// outletCuts cuts the connection under a stream of messages, and publishes on
// over a new outlet each time. Then what is in the queue is held against what
// was said of each.
func outletCuts(s *scene) {
	const n, cuts = 900, 3
	w := s.newWay(s.b)
	out := newOutcomes(s, n)
	for i := range n {
		if i%(n/cuts) == n/cuts/2 {
			s.env.Cut(s.T, s.b)
		}
		out.publish(w, i, w.key)
		select {
		case <-w.Done():
			w = s.reopened(w)
		default:
		}
	}
	errs := out.all()
	confirmed := 0
	for _, err := range errs {
		if err == nil {
			confirmed++
		}
	}
	found := make([]int, n)
	for _, i := range s.bodies(confirmed) {
		found[i]++
	}
	for i, err := range errs {
		s.wantTrue(i, err, found[i])
	}
}

// wantTrue holds what was said of a message against how often it is there.
func (s *scene) wantTrue(i int, err error, found int) {
	s.Helper()
	least, most := 0, 0
	switch {
	case err == nil:
		least, most = 1, 1
	case errors.Is(err, broker.ErrUnknown):
		most = 1
	case !errors.Is(err, broker.ErrClosed):
		s.Errorf("message %d: %v", i, err)
	}
	if found < least || found > most {
		s.Errorf("message %d is there %d times, and its outcome is: %v", i, found, err)
	}
}

// reopened opens the outlet again after its end.
func (s *scene) reopened(w *way) *way {
	s.Helper()
	if err := w.Err(); err == nil || broker.Permanent(err) {
		s.Errorf("it ended with %v", err)
	}
	var o broker.Outlet
	s.eventually("it opens again", func() (opened bool) {
		var err error
		o, err = s.b.(broker.Outlets).OpenOutlet(s.ctx(), w.exchange, nil)
		return err == nil
	})
	s.Cleanup(func() { _ = o.Close(s.ctx()) })
	return &way{Outlet: o, s: s, exchange: w.exchange, key: w.key}
}

func outletBlocked(s *scene) {
	const n = 20
	w := s.newWay(s.b)
	unblock := s.env.Block(s.T)
	defer unblock()
	out := newOutcomes(s, n)
	out.publish(w, 0, w.key)
	s.eventually("the block is told", func() bool { return w.notices.has(broker.NoticeBlocked) })
	for i := 1; i < n; i++ {
		out.publish(w, i, w.key)
	}
	s.never("one has an outcome", func() bool { return out.calls[n-1].Load() > 0 })
	unblock()
	out.stored()
	s.eventually("its end is told", func() bool { return w.notices.has(broker.NoticeUnblocked) })
	s.bodies(n)
}

func outletCloseBlocked(s *scene) {
	const n = 20
	w := s.newWay(s.b)
	unblock := s.env.Block(s.T)
	defer unblock()
	out := newOutcomes(s, n)
	for i := range n {
		out.publish(w, i, w.key)
	}
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	began := time.Now()
	if err := w.Close(ctx); err == nil {
		s.Error("close says that everything was published")
	}
	s.within("it is done", w.Done())
	s.Logf("closed after %v", time.Since(began))
	for i, err := range out.all() {
		if !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrUnknown) {
			s.Errorf("message %d: %v", i, err)
		}
	}
}
