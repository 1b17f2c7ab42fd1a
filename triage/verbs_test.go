package triage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

func TestResume_keeps_the_capture(t *testing.T) {
	d := newDesk(t)
	held := captured("h1", func(c *broker.Capture) { c.Reason, c.Attempt, c.Lap = "", 2, 3 })
	d.put("orders.hold", held, nil)
	d.put("orders.hold", captured("theirs", func(c *broker.Capture) { c.Reason, c.Origin.Queue = "", "bills" }), nil)
	o, err := triage.Resume(t.Context(), d, triage.Place{Queue: "orders.hold"}, source, triage.Bounds{})
	if err != nil || o.Moved != 1 || o.Refused != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	m := d.Messages(source)[0]
	if m.Capture == nil || m.Capture.Lap != 3 || m.Capture.Attempt != 2 {
		t.Errorf("capture %+v: its counts go on where they were", m.Capture)
	}
	d.want("orders.hold", "theirs")
}

func TestDiscard_removes_what_is_picked(t *testing.T) {
	d := newDesk(t)
	d.fill(2)
	d.put(parked, captured("v", func(c *broker.Capture) { c.Reason = broker.ReasonVerdict }), nil)
	o, err := triage.Discard(t.Context(), d, place, triage.Bounds{
		Select: triage.Selection{Reasons: []broker.Reason{broker.ReasonVerdict}},
	})
	if err != nil || o.Moved != 1 || o.Unmatched != 2 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked, "p1", "p2")
}

func TestDiscard_of_nothing(t *testing.T) {
	d := newDesk(t)
	if o, err := triage.Discard(t.Context(), d, place, triage.Bounds{}); err != nil || o != (triage.Outcome{}) {
		t.Errorf("outcome %+v, %v", o, err)
	}
	_, err := triage.Discard(t.Context(), d, triage.Place{Queue: "gone"}, triage.Bounds{})
	if !errors.Is(err, broker.ErrMissing) {
		t.Errorf("a missing queue: %v", err)
	}
}

func TestExport_is_the_whole_message(t *testing.T) {
	d := newDesk(t)
	d.put(parked, captured("p1", nil), func(m *broker.Message) {
		m.Body = []byte("\x00\xff<b>")
		m.Headers["n"] = int32(7)
		m.Headers["raw"] = []byte{1, 2}
		m.Headers["latin"] = "caf\xe9"
		m.CorrelationID = "c1"
	})
	var out bytes.Buffer
	o, err := triage.Export(t.Context(), d, place, triage.Bounds{}, &out, false)
	if err != nil || o.Moved != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	var e triage.Entry
	if err := json.Unmarshal(out.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if string(e.Body) != "\x00\xff<b>" || e.ID != "p1" || e.CorrelationID != "c1" || e.Position != 1 {
		t.Errorf("entry %+v", e)
	}
	for name, want := range map[string]triage.Value{
		"n": {Type: "int32", Value: 7.0}, "raw": {Type: "bytes", Value: "AQI="},
		"latin": {Type: "string+base64", Value: "Y2Fm6Q=="}, "tenant": {Type: "string", Value: "acme"},
	} {
		if e.Headers[name] != want {
			t.Errorf("header %s is %+v, want %+v", name, e.Headers[name], want)
		}
	}
	d2 := d.Messages(parked)
	if len(d2) != 1 {
		t.Error("an export without remove removed")
	}
}

func TestExport_with_remove_leaves_only_the_file(t *testing.T) {
	d := newDesk(t)
	d.fill(3)
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := triage.Export(t.Context(), d, place, triage.Bounds{Limit: 2}, f, true)
	if err != nil || o.Moved != 2 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("file %q, %v", b, err)
	}
	d.want(parked, "p3")
}

// fullDisk takes n writes, and no sync at all when broken is set.
type fullDisk struct {
	left   int
	broken error
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}
func (f *fullDisk) Sync() error { return f.broken }

func TestExport_removes_nothing_that_is_not_on_disk(t *testing.T) {
	syncError := errors.New("sync: input/output error")
	for name, tc := range map[string]struct {
		disk io.Writer
		want error
		left []string
	}{
		"disk_full":         {&fullDisk{left: 1}, io.ErrShortWrite, []string{"p2", "p3"}},
		"sync_fails":        {&fullDisk{left: 9, broken: syncError}, syncError, []string{"p1", "p2", "p3"}},
		"cannot_be_durable": {io.Discard, triage.ErrNotDurable, []string{"p1", "p2", "p3"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(3)
			_, err := triage.Export(t.Context(), d, place, triage.Bounds{}, tc.disk, true)
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			d.want(parked, tc.left...)
		})
	}
}

func TestFind(t *testing.T) {
	d := newDesk(t)
	d.put(parked, captured("abcdefgh-1", nil), nil)
	d.put(parked, captured("abcdefgh-2", nil), func(m *broker.Message) { m.ID = "order-7" })
	d.put(parked, captured("abcdefgh-2", nil), func(m *broker.Message) { m.ID = "order-7" }) // a crash's duplicate
	d.put(parked, nil, func(m *broker.Message) { m.ID = "twice" })
	d.put(parked, nil, func(m *broker.Message) { m.ID = "twice" })
	for ref, want := range map[string]int{"abcdefgh-1": 0, "abcdefgh-2": 1, "order-7": 1, "#1": 0, "#4": 3} {
		m, err := triage.Find(t.Context(), d, place, ref)
		if err != nil || m.Position != want {
			t.Errorf("%s: %v, %v; want position %d", ref, m, err, want)
		}
	}
	for ref, want := range map[string]string{
		"abcdefgh": "fits 2 messages", "twice": "fits 2 messages", "abc": "no such message",
		"#9": "no such message", "#0": "not a place", "#x": "not a place", "": "empty id",
	} {
		if _, err := triage.Find(t.Context(), d, place, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ref, err, want)
		}
	}
	if n := len(d.Messages(parked)); n != 5 {
		t.Errorf("%d left of 5: looking moved something", n)
	}
}

func TestAnswer(t *testing.T) {
	d := newDesk(t)
	d.DeclareQueue("caller")
	request := func(m *broker.Message) { m.ReplyTo, m.CorrelationID = "caller", "c-1" }
	d.put(parked, captured("request-1", nil), request)
	d.put(parked, captured("event-1", nil), nil)
	d.put(parked, captured("orphan-1", nil), func(m *broker.Message) { m.ReplyTo, m.CorrelationID = "gone", "c-2" })
	reply := &broker.Reply{Body: []byte("42")}

	m, err := triage.Answer(t.Context(), d, place, "request-1", reply)
	if err != nil || m.Message.CorrelationID != "c-1" {
		t.Fatalf("%v, %v", m, err)
	}
	got := d.Messages("caller")
	if len(got) != 1 || string(got[0].Message.Body) != "42" || got[0].Message.CorrelationID != "c-1" {
		t.Errorf("the caller got %+v", got)
	}
	for ref, want := range map[string]error{
		"request-1": triage.ErrNotFound, "event-1": triage.ErrNoReplyAddress, "orphan-1": triage.ErrCallerGone,
	} {
		if _, err := triage.Answer(t.Context(), d, place, ref, reply); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", ref, err, want)
		}
	}
	d.want(parked, "event-1", "orphan-1")
}
