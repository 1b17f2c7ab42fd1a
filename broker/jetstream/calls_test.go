package jetstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

func newMsg() *nats.Msg { return &nats.Msg{Subject: "s", Header: nats.Header{}} }

const soon = 10 * time.Second

type outcome struct {
	body string
	err  error
}

// asking asks once for each subject and collects the outcomes.
func asking(c *conn, within time.Duration, subjects ...string) <-chan outcome {
	outcomes := make(chan outcome, 2*len(subjects))
	for _, subject := range subjects {
		c.calls.ask(&nats.Msg{Subject: subject}, within, func(m *nats.Msg, err error) {
			o := outcome{err: err}
			if m != nil {
				o.body = string(m.Data)
			}
			outcomes <- o
		})
	}
	return outcomes
}

func next(t *testing.T, outcomes <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-outcomes:
		return o
	case <-time.After(soon):
		t.Fatal("a call has no end")
		return outcome{}
	}
}

func TestCallsAreAnswered(t *testing.T) {
	t.Parallel()
	c := mustDial(t, &fake{published: func(f *fake, m *nats.Msg) {
		switch m.Subject {
		case "nobody":
			f.deliver(m.Reply, "", "NATS/1.0 503", "")
		case "status": // of a message that was stored
			f.deliver(m.Reply, "", "NATS/1.0\r\nStatus: 503", "body")
		default:
			f.deliver(m.Reply, "", "", "to "+m.Subject)
			f.deliver(m.Reply, "", "", "again")
		}
	}})
	outcomes := asking(c, soon, "a")
	if o := next(t, outcomes); o.err != nil || o.body != "to a" {
		t.Errorf("%+v", o)
	}
	if o := next(t, asking(c, soon, "nobody")); !errors.Is(o.err, errNobody) {
		t.Errorf("%+v", o)
	}
	if o := next(t, asking(c, soon, "status")); o.err != nil || o.body != "body" {
		t.Errorf("%+v", o)
	}
	select {
	case o := <-outcomes:
		t.Errorf("a second answer: %+v", o)
	default:
	}
}

func TestCallsRunOutOfTime(t *testing.T) {
	t.Parallel()
	c := mustDial(t, &fake{published: func(f *fake, m *nats.Msg) {
		if m.Subject == "quick" {
			f.deliver(m.Reply, "", "", "here")
		}
	}})
	silent, quick := asking(c, time.Millisecond, "silent"), asking(c, soon, "quick")
	if o := next(t, silent); !errors.Is(o.err, errNoAnswer) {
		t.Errorf("%+v", o)
	}
	if o := next(t, quick); o.body != "here" {
		t.Errorf("%+v", o)
	}
}

func TestCallsAreRefusedBySubject(t *testing.T) {
	t.Parallel()
	c := mustDial(t, &fake{})
	denied, other := asking(c, soon, "ns.parked.A.b", "ns.parked.A.b"), asking(c, soon, "ns.parked.A.b.c")
	c.calls.refuse(`Permissions Violation for Publish to "ns.parked.A.b"`)
	for range 2 {
		if o := next(t, denied); !errors.Is(o.err, broker.ErrPermission) {
			t.Errorf("%+v", o)
		}
	}
	select {
	case o := <-other:
		t.Errorf("another subject: %+v", o)
	default:
	}
}

// TestCallsEndWithTheConnection: those that were sent may have been heard;
// those to come are not sent.
func TestCallsEndWithTheConnection(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := mustDial(t, f)
	sent := asking(c, soon, "a", "b")
	f.conn.Close()
	for range 2 {
		if o := next(t, sent); !errors.Is(o.err, broker.ErrUnreachable) || errors.Is(o.err, errUnsent) {
			t.Errorf("%+v", o)
		}
	}
	if o := next(t, asking(c, soon, "c")); !errors.Is(o.err, errUnsent) {
		t.Errorf("%+v", o)
	}
}

// TestStored reads what a server answers to a copy.
func TestStored(t *testing.T) {
	t.Parallel()
	ack := func(data string) *nats.Msg { return &nats.Msg{Data: []byte(data)} }
	for what, c := range map[string]struct {
		answer *nats.Msg
		err    error
		class  error
	}{
		"stored":           {ack(`{"stream":"S","seq":7}`), nil, nil},
		"stored before":    {ack(`{"stream":"S","seq":7,"duplicate":true}`), nil, nil},
		"another stream":   {ack(`{"stream":"T","seq":7}`), nil, broker.ErrUnknown},
		"no sequence":      {ack(`{"stream":"S"}`), nil, broker.ErrUnknown},
		"no answer at all": {ack(``), nil, broker.ErrUnknown},
		"somebody else":    {ack(`hello`), nil, broker.ErrUnknown},
		"full":             {ack(`{"stream":"S","error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"}}`), nil, broker.ErrRefused},
		"no stream":        {nil, errNobody, broker.ErrUnrouted},
		"no time":          {nil, errNoAnswer, broker.ErrUnknown},
		"no connection":    {nil, nats.ErrConnectionClosed, broker.ErrUnknown},
		"no permission":    {nil, broker.ErrPermission, broker.ErrRefused},
		"too large":        {nil, nats.ErrMaxPayload, broker.ErrRefused},
		"a strange header": {nil, nats.ErrBadHeaderMsg, broker.ErrRefused},
		"a strange name":   {nil, nats.ErrBadSubject, broker.ErrRefused},
	} {
		err := stored(c.answer, "S", c.err)
		if c.class == nil && err != nil || c.class != nil && !errors.Is(err, c.class) {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "jetstream: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
