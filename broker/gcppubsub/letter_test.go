package gcppubsub

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

func full() *broker.Capture {
	at := time.Unix(1_700_000_000, 123_456_789).UTC()
	return &broker.Capture{
		ID: "0007", Attempt: 3, Lap: 2, Crashes: 1, Reason: broker.ReasonVerdict,
		Error: strings.Repeat("ä\"\n", 500), ErrorSHA256: strings.Repeat("f", 64), Cause: strings.Repeat("\x00<", 800),
		Origin:        broker.Origin{Exchange: "topic", Key: "key", Queue: "orders"},
		FirstFailedAt: at, FailedAt: at.Add(time.Second), NotBefore: at.Add(time.Minute), Host: "host", Token: "token",
	}
}

func TestCapture_comes_back_as_it_was_but_for_its_texts(t *testing.T) {
	t.Parallel()
	m, err := captured(&pubsubpb.PubsubMessage{Data: []byte("a"), OrderingKey: "key"}, full())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkLimits(m); err != nil {
		t.Error(err)
	}
	got, err := capture(m.GetAttributes(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	want := full()
	want.Error, want.Cause = cutText(want.Error, maxText), cutText(want.Cause, maxText)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n %+v, not\n %+v", got, want)
	}
	if m.GetOrderingKey() != "key" || string(m.GetData()) != "a" {
		t.Errorf("%q, %q", m.GetOrderingKey(), m.GetData())
	}
}

func TestCaptured_replaces_what_was_there(t *testing.T) {
	t.Parallel()
	long, err := captured(&pubsubpb.PubsubMessage{Attributes: map[string]string{
		"own": "kept", broker.HeaderAttempt: "9", "googclient_deliveryattempt": "5", attrDue: "1", deadLetterFrom: "x", attrTopic: "t",
	}}, full())
	if err != nil {
		t.Fatal(err)
	}
	short := full()
	short.Error, short.Cause = "", ""
	m, err := captured(long, short)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.GetAttributes()); n != 2 || m.GetAttributes()["own"] != "kept" {
		t.Errorf("%d attributes: %v", n, m.GetAttributes())
	}
}

func crowded(n int) *pubsubpb.PubsubMessage {
	a := map[string]string{}
	for i := range n {
		a[fmt.Sprint("a", i)] = "v"
	}
	return &pubsubpb.PubsubMessage{Attributes: a}
}

func TestCaptured_gives_up_texts_before_it_refuses(t *testing.T) {
	t.Parallel()
	m, err := captured(crowded(maxAttributes-1), full())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := capture(m.GetAttributes(), ""); err != nil || c.Error != "" || c.Attempt != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := captured(crowded(maxAttributes), full()); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("the error is %v", err)
	}
}

func TestCapture_that_is_no_JSON_is_an_error(t *testing.T) {
	t.Parallel()
	if c, err := capture(map[string]string{attrCapture: "{"}, ""); c != nil || err == nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCheckLimits(t *testing.T) {
	t.Parallel()
	one := func(name, v string) *pubsubpb.PubsubMessage {
		return &pubsubpb.PubsubMessage{Attributes: map[string]string{name: v}}
	}
	for _, c := range []struct {
		name    string
		m       *pubsubpb.PubsubMessage
		refused bool
	}{
		{"all at its bound", one(strings.Repeat("n", maxName), strings.Repeat("v", maxValue)), false},
		{"most attributes", crowded(maxAttributes), false},
		{"one attribute more", crowded(maxAttributes + 1), true},
		{"no name", one("", "v"), true},
		{"a long name", one(strings.Repeat("n", maxName+1), "v"), true},
		{"a long value", one("n", strings.Repeat("v", maxValue+1)), true},
		{"no text", one("n", "\xff"), true},
		{"a large body", &pubsubpb.PubsubMessage{Data: make([]byte, maxBody+1)}, true},
		{"a long key", &pubsubpb.PubsubMessage{OrderingKey: strings.Repeat("k", maxKey+1)}, true},
	} {
		if err := checkLimits(c.m); errors.Is(err, broker.ErrRefused) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
