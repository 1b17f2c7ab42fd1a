package rabbitmq

import (
	"errors"
	"net"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// What is certain about the messages under way when the broker closes the
// channel: nothing of those before the newest that it may be about.
func TestShippingOutcomes(t *testing.T) {
	t.Parallel()
	const no = "ACCESS_REFUSED - access to "
	flight := func(keys ...string) (list []flown) {
		for _, key := range keys {
			size, _ := strconv.Atoi(key) // 0 for those that are no number
			list = append(list, flown{job: &job{key: key, msg: amqp.Publishing{Body: make([]byte, size)}}})
		}
		return list
	}
	for name, c := range map[string]struct {
		code   int
		reason string
		keys   []string
		want   []error
	}{
		"an_exchange_that_is_gone": {
			amqp.NotFound, "NOT_FOUND - no exchange 'e' in vhost '/'",
			[]string{"a", "b", "c"},
			[]error{broker.ErrUnknown, broker.ErrUnknown, broker.ErrMissing},
		},
		"one_that_is_alone": {amqp.NotFound, "NOT_FOUND - no exchange", []string{"a"}, []error{broker.ErrMissing}},
		"a_grant": {
			amqp.AccessRefused, no + "exchange 'e' in vhost '/' refused for user 'u'",
			[]string{"a", "b"},
			[]error{broker.ErrUnknown, broker.ErrPermission},
		},
		"an_internal_exchange": {
			amqp.AccessRefused, "ACCESS_REFUSED - cannot publish to internal exchange 'e' in vhost '/'",
			[]string{"a"},
			[]error{broker.ErrPermission},
		},
		"a_topic": {
			amqp.AccessRefused, no + "topic 'b' in exchange 'e' in vhost '/' refused for user 'u'",
			[]string{"a", "b", "b", "c"},
			[]error{broker.ErrUnknown, broker.ErrUnknown, broker.ErrPermission, broker.ErrClosed},
		},
		"a_size": {
			amqp.PreconditionFailed, "PRECONDITION_FAILED - message size 9 is larger than configured max size 8",
			[]string{"7", "9", "1"},
			[]error{broker.ErrUnknown, broker.ErrConfig, broker.ErrClosed},
		},
		"a_topic_of_nobody": {
			amqp.AccessRefused, no + "topic 'z' in exchange 'e' in vhost '/' refused for user 'u'",
			[]string{"a", "b"},
			[]error{broker.ErrUnknown, broker.ErrUnknown},
		},
		"anything_else": {amqp.PreconditionFailed, "PRECONDITION_FAILED", []string{"a"}, []error{broker.ErrUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shipping{"e"}
			why := s.explain(&amqp.Error{Code: c.code, Reason: c.reason, Server: true})
			for i, err := range s.outcomes(flight(c.keys...), why) {
				if !errors.Is(err, c.want[i]) {
					t.Errorf("message %d: %v, not %v", i, err, c.want[i])
				}
			}
		})
	}
}

// A session's copies are unknown whatever the broker said: their originals stay.
func TestCopyingOutcomes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{amqp.NotFound, amqp.AccessRefused, amqp.PreconditionFailed} {
		why := copying{}.explain(&amqp.Error{Code: code, Reason: "no", Server: true})
		if err := (copying{}).outcomes([]flown{{job: &job{}}}, why)[0]; !errors.Is(err, broker.ErrUnknown) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// A finished publisher ends when all that it took over has an outcome, and
// takes no more.
func TestPublisherThatIsFinished(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	p.send(2)
	p.finish()
	outcome := make(chan error, 1)
	p.publish(&job{msg: amqp.Publishing{Headers: amqp.Table{}}, done: func(err error) { outcome <- err }})
	if err := await(t, outcome); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("a late one: %v", err)
	}
	select {
	case <-p.gone:
		t.Error("it ended before the confirms")
	default:
	}
	p.answer(0, true)
	p.answer(1, true)
	p.want(nil, nil)
	await(t, p.gone)
	if p.cutOff != 0 {
		t.Errorf("%d were cut off", p.cutOff)
	}
}

// What fills the window alone is sent alone.
func TestPublisherSendsALargeOneAlone(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	outcomes := make(chan error, 3)
	p.publisher.mu.Lock() // so that it finds all of them at once
	for _, size := range []int{1, windowBytes + 1, 1} {
		p.queue = append(p.queue, &job{
			msg:  amqp.Publishing{Headers: amqp.Table{}, Body: make([]byte, size)},
			done: func(err error) { outcomes <- err },
		})
	}
	p.publisher.mu.Unlock()
	p.poke()
	for i := range 3 {
		await(t, p.line.grown)
		p.answer(i, true)
	}
	for range 3 {
		if err := await(t, outcomes); err != nil {
			t.Error(err)
		}
	}
	if beside := p.line.beside; beside[1] != 0 || beside[2] != 0 {
		t.Errorf("so many were under way when each was sent: %v", beside)
	}
}

// A confirm that does not come ends the outlet and leaves the connection to the
// others; a session gives up the connection.
func TestLateConfirms(t *testing.T) {
	t.Parallel()
	for _, e := range []ending{shipping{"e"}, copying{}} {
		p := startPublishingFor(t, e)
		c, theirs := net.Pipe()
		defer theirs.Close()
		p.out.conn.sock = newSocket(c)
		p.conn.Store(p.out.conn)
		p.send(1)
		e.late(p.publisher)
		if _, ends := e.(shipping); !ends {
			if err := p.out.conn.lost(); !errors.Is(err, broker.ErrUnknown) {
				t.Errorf("a session's connection: %v", err)
			}
			continue
		}
		p.want(broker.ErrUnknown)
		if err := await(t, p.failed); !errors.Is(err, broker.ErrUnknown) {
			t.Errorf("the outlet ended with %v", err)
		}
		if err := p.conn.Load().lost(); err != nil {
			t.Errorf("the connection is lost: %v", err)
		}
	}
}
