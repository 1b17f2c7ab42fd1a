package rocketmq

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestProperties_survive_the_wire(t *testing.T) {
	p := properties{"a": "1", "empty": "", "text": "naïve – 漢字 – 🎈", "KEYS": "x y"}
	text := p.text()
	if len(text) != p.size() {
		t.Errorf("%d bytes, not %d", len(text), p.size())
	}
	if got := readProperties(text); !maps.Equal(got, p) {
		t.Errorf("%v", got)
	}
	p.set("bad", "a\x01b\x02c\xff")
	if got := readProperties(p.text())["bad"]; got != "a\ufffdb\ufffdc\ufffd" {
		t.Errorf("%q", got)
	}
}

// TestCopies_carry_no_count_of_another_delivery: a message that was received
// says how it was timed, counted and popped, and each of these would be
// believed of the copy.
func TestCopies_carry_no_count_of_another_delivery(t *testing.T) {
	m := &record{properties: properties{
		"own": "kept", "KEYS": "k", "TAGS": "tag", "UNIQ_KEY": "id", "POP_CK": "0 1 2 3 0 b 0 0", "1ST_POP_TIME": "1",
		"DELAY": "3", "TIMER_DELIVER_MS": "1", "TIMER_ROLL_TIMES": "2", "REAL_TOPIC": "t", "RECONSUME_TIME": "4",
		"MAX_RECONSUME_TIMES": "5", "TRAN_MSG": "true", "HOLDFAST_HELD": "1", "RETRY_TOPIC": "t", "INNER_NUM": "2",
		broker.HeaderVersion: "1", broker.HeaderID: "stale", broker.HeaderAttempt: "9", broker.HeaderError: "stale",
	}, body: []byte("b"), sysFlag: flagCompressed | flagBornV6 | compressionZSTD, born: 7}
	c := &broker.Capture{ID: "fresh", Attempt: 2, Origin: broker.Origin{Queue: "T/g"}, FailedAt: time.Unix(1, 0)}
	out, err := captured(m, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"own": "kept", "KEYS": "k", "TAGS": "tag", "UNIQ_KEY": "id", broker.HeaderID: "fresh", broker.HeaderAttempt: "2",
	} {
		if got := out.properties[name]; got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	for name := range out.properties {
		if isTransient(name) || strings.HasPrefix(name, ownPrefix) || name == broker.HeaderError {
			t.Errorf("%s came along", name)
		}
	}
	if out.sysFlag != flagCompressed|compressionZSTD || out.born != 7 || string(out.body) != "b" {
		t.Errorf("%+v", out)
	}
	got, err := out.properties.capture("T/g")
	if err != nil || got.ID != "fresh" || got.Attempt != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCaptured_cuts_its_texts_and_nothing_else(t *testing.T) {
	long := strings.Repeat("ä", 4<<10)
	c := &broker.Capture{ID: "i", Attempt: 1, Error: long, Cause: long, Origin: broker.Origin{Queue: "T/g"}}
	for _, size := range []int{0, maxHeaders, maxProperties - slack - 400} {
		m := &record{properties: properties{"big": strings.Repeat("x", size)}}
		out, err := captured(m, c)
		if err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		if n := out.properties.size(); n > maxProperties-slack || len(out.properties["big"]) != size {
			t.Errorf("%d: %d bytes of properties, %d of them the message's", size, n, len(out.properties["big"]))
		}
		if text := out.properties[broker.HeaderError]; len(text) > maxText || !strings.HasPrefix(long, text) {
			t.Errorf("%d: an error text of %d bytes", size, len(text))
		}
	}
	_, err := captured(&record{properties: properties{"big": strings.Repeat("x", maxProperties-slack)}}, c)
	if err == nil {
		t.Error("there was no room, and no error")
	}
}
