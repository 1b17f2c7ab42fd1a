package awssqs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

func failed() *broker.Capture {
	return &broker.Capture{
		ID: "capture-1", Attempt: 3, Reason: broker.ReasonExhausted, Error: strings.Repeat("é<\ufffe", 400), Cause: "why",
		Origin: broker.Origin{Queue: "orders"}, FirstFailedAt: time.Now(), Host: "host",
	}
}

// arrived is what a copy looks like to who receives it.
func arrived(o *outgoing) *letter {
	id, receipt := "copy", "receipt"
	return open(types.Message{
		Body: &o.body, MessageAttributes: o.attributes, MessageId: &id, ReceiptHandle: &receipt,
		Attributes: map[string]string{sysGroup: o.group, sysReceives: "1"},
	}, false)
}

func original(n int) *letter {
	a := attributes{}
	for i := range n {
		a[fmt.Sprintf("attribute-%d", i)] = textAttribute(fmt.Sprint(i))
	}
	body, id := "body", "original"
	return open(types.Message{Body: &body, MessageAttributes: a, MessageId: &id}, false)
}

func TestACaptureTravelsWithAnyNumberOfAttributes(t *testing.T) {
	t.Parallel()
	for n := range maxAttributes + 1 {
		l := original(n)
		o, whole, err := l.captured(failed(), "")
		if err != nil || !whole {
			t.Fatalf("%d attributes: whole %v, %v", n, whole, err)
		}
		if len(o.attributes) > maxAttributes || !carried(aws.ToString(o.attributes[packedName].StringValue)) {
			t.Errorf("%d attributes became %d that SQS does not take", n, len(o.attributes))
		}
		back := arrived(o)
		c, err := back.capture("orders")
		if err != nil || c == nil || c.ID != "capture-1" || c.Attempt != 3 || !strings.HasPrefix(c.Error, "é<\ufffe") {
			t.Errorf("%d attributes: the capture is %+v, %v", n, c, err)
		}
		m := back.view()
		for i := range n {
			if m.Headers[fmt.Sprintf("attribute-%d", i)] != fmt.Sprint(i) {
				t.Errorf("%d attributes: %d is %v", n, i, m.Headers)
			}
		}
		if m.Headers[HeaderMessageID] != "original" {
			t.Errorf("%d attributes: the id became %v", n, m.Headers[HeaderMessageID])
		}
	}
}

func TestTheBodyIsNeverCutForTheCapture(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 100, 800, 1500, 4000, 10000} {
		l := original(2)
		l.body = strings.Repeat("x", maxMessage-attributesSize(l.attributes)-room)
		o, whole, err := l.captured(failed(), "")
		if err != nil {
			t.Fatal(err)
		}
		if o.body != l.body || o.size() > maxMessage {
			t.Errorf("%d bytes of room: the copy has %d bytes", room, o.size())
		}
		if c, _ := arrived(o).capture("orders"); whole != (c != nil) || room >= leanRoom && !whole {
			t.Errorf("%d bytes of room: whole %v, capture %v", room, whole, c)
		}
		if !l.oversize() && !whole {
			t.Errorf("%d bytes of room: nothing says that a copy has none", room)
		}
	}
}

func TestAFreshCopyIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	b := &Broker{}
	for n := range maxAttributes + 1 {
		o, _, err := original(n).captured(failed(), "")
		if err != nil {
			t.Fatal(err)
		}
		stamp := map[string]any{broker.HeaderReplayID: "replay"}
		fresh, err := b.copyOf(arrived(o), broker.Action{Fresh: true, Stamp: stamp}, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if _, folded := fresh.attributes[packedName]; n == maxAttributes && folded {
			t.Error("ten attributes were folded for a stamp")
		}
		m := arrived(fresh).view()
		if n < maxAttributes && m.Headers[broker.HeaderReplayID] != "replay" {
			t.Errorf("%d attributes: the stamp is %v", n, m.Headers)
		}
		if c, err := arrived(fresh).capture(""); c != nil || err != nil {
			t.Errorf("%d attributes: the capture stayed", n)
		}
		if len(fresh.attributes) < n {
			t.Errorf("of %d attributes %d are left", n, len(fresh.attributes))
		}
	}
}

func TestAnEnvelopeShowsWhatWasPublishedToTheTopic(t *testing.T) {
	t.Parallel()
	body := `{"Type":"Notification","MessageId":"sns-1","TopicArn":"arn:aws:sns:eu-west-1:1:orders","Message":"{\"order\":7}",
		"MessageAttributes":{"tenant":{"Type":"String","Value":"acme"},"n":{"Type":"Number","Value":"7"},"raw":{"Type":"Binary","Value":"AAE="}}}`
	l := open(types.Message{Body: &body}, false)
	m := l.view()
	if string(m.Body) != `{"order":7}` || m.Headers[HeaderMessageID] != "sns-1" || m.Headers["tenant"] != "acme" || m.Headers["n"] != json.Number("7") {
		t.Errorf("the message is %s %+v", m.Body, m)
	}
	if raw, _ := m.Headers["raw"].([]byte); string(raw) != "\x00\x01" {
		t.Errorf("bytes are %v", m.Headers["raw"])
	}
	if o := l.origin(nil, "orders"); o.Exchange != "arn:aws:sns:eu-west-1:1:orders" {
		t.Errorf("the origin is %+v", o)
	}
	o, _, err := l.captured(failed(), "")
	if err != nil || o.body != body {
		t.Errorf("the copy's body is not the envelope: %v", err)
	}
	back := arrived(o)
	if c, _ := back.capture("orders"); c == nil || back.view().Headers[HeaderMessageID] != "sns-1" || string(back.view().Body) != `{"order":7}` {
		t.Errorf("the copy shows %+v, %v", back.view(), c)
	}
	if kept := open(types.Message{Body: &body}, true).view(); string(kept.Body) != body {
		t.Error("the envelope was opened")
	}
}

// A stamp that came through a topic is inside of the envelope.
func TestAStampInAnEnvelopeIsReadBeforeTheCount(t *testing.T) {
	t.Parallel()
	o, _, err := original(0).captured(failed(), "")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := json.Marshal(aws.ToString(o.attributes[packedName].StringValue))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"Type":"Notification","MessageId":"sns-1","TopicArn":"arn:t","Message":"m","MessageAttributes":{"` + packedName +
		`":{"Type":"String","Value":` + string(packed) + `}}}`
	l := open(types.Message{Body: &body, Attributes: map[string]string{sysReceives: "2"}}, false)
	c, err := l.capture("orders")
	if err != nil || c == nil {
		t.Fatalf("the stamp is %v, %v", c, err)
	}
	if attempt, _ := broker.Count(c, l.receives, true); attempt != 4 {
		t.Errorf("attempt %d of a third attempt's copy that was delivered twice", attempt)
	}
}

func TestOnlyAnEnvelopeIsOpened(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "text", `{"Type":"Notification"}`, `{"Type":"Notification","TopicArn":"arn:t","MessageId":"1"}`,
		`{"Type":"SubscriptionConfirmation","TopicArn":"arn:t","MessageId":"1","Message":"m"}`,
		`{"Type":"Notification","TopicArn":"t","MessageId":"1","Message":"m"}`, `["TopicArn"]`, `{"TopicArn":`,
	} {
		if openEnvelope(body) != nil {
			t.Errorf("%s was taken for an envelope", body)
		}
	}
}

func TestBodiesThatSQSCannotCarryComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "text", "\x00", "a\xff", "\ufffe", "line\nline", "漢字"} {
		a := attributes{}
		sent := encodeBody([]byte(body), a)
		if len(sent) == 0 || !carried(sent) {
			t.Errorf("%q is sent as %q", body, sent)
		}
		if got := decodeBody(sent, a); string(got) != body {
			t.Errorf("%q came back as %q", body, got)
		}
	}
}

func FuzzPackedIsReadOrRefused(f *testing.F) {
	f.Add(`{"fields":{"x-holdfast-version":1}}`)
	f.Add(`{"folded":{"a":{"type":"Binary","binary":"AA=="}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		body := "body"
		l := open(types.Message{Body: &body, MessageAttributes: attributes{packedName: textAttribute(text)}}, false)
		l.view()
		if _, err := l.capture("orders"); err == nil {
			if _, _, err := l.captured(failed(), ""); err != nil {
				t.Errorf("a copy cannot be made: %v", err)
			}
		}
	})
}
