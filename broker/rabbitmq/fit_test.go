package rabbitmq

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

func fullCapture() *broker.Capture {
	long := strings.Repeat("ö", 300<<10)
	return &broker.Capture{
		ID: "id", Attempt: 2, Reason: broker.ReasonExhausted, Error: long, Cause: long, ErrorSHA256: strings.Repeat("a", 64),
		Origin: broker.Origin{Exchange: strings.Repeat("e", 255), Key: strings.Repeat("k", 255), Queue: strings.Repeat("q", 255)},
		Host:   long, Token: strings.Repeat("t", 255),
	}
}

func letterWith(headers amqp.Table) *letter {
	l := &letter{}
	l.read(&amqp.Delivery{Headers: headers}, "q")
	return l
}

// TestCapturedFits tries headers of every size around the limits.
func TestCapturedFits(t *testing.T) {
	t.Parallel()
	for size := 0; size < 131_000; size += 997 {
		l := letterWith(amqp.Table{"big": strings.Repeat("é", size/2), "small": int64(1)})
		hop, weight, fits := l.captured(fullCapture(), hopLimit, "")
		if !oversize(l.hopSize()) && !fits {
			t.Errorf("%d bytes: not oversize, and does not fit a hop", size)
		}
		if total := tableSize(hop.Headers) + seqRoom; fits && (total > hopLimit || total != weight) {
			t.Errorf("%d bytes: a hop of %d", size, tableSize(hop.Headers))
		}
		rest, weight, fits := l.captured(fullCapture(), restLimit, "")
		if total := tableSize(rest.Headers) + seqRoom; !fits || total > restLimit || total != weight {
			t.Errorf("%d bytes: %d to rest", size, total)
		}
		if e, _ := rest.Headers[broker.HeaderError].(string); e == "" || len(e) > maxText || !utf8.ValidString(e) {
			t.Errorf("%d bytes: an error of %d", size, len(e))
		}
		if rest.Headers[broker.HeaderID] != "id" || rest.Headers["small"] != int64(1) {
			t.Errorf("%d bytes: lost %v", size, rest.Headers)
		}
	}
}

func TestSqueeze(t *testing.T) {
	t.Parallel()
	many := amqp.Table{}
	for i := range 8000 {
		many[fmt.Sprintf("header-%05d", i)] = int64(i)
	}
	for name, table := range map[string]amqp.Table{
		"one string":  {"a": strings.Repeat("ü", 70_000), "b": "kept"},
		"bytes":       {"a": bytes.Repeat([]byte{1}, 125_000)},
		"two":         {"a": strings.Repeat("x", 65_000), "b": strings.Repeat("y", 65_000)},
		"a table":     {"a": amqp.Table{"in": strings.Repeat("x", 125_000)}},
		"many small":  many,
		"many of one": {"a": strings.Repeat("x", 60_000), "b": amqp.Table{"in": strings.Repeat("x", 60_000)}, "c": strings.Repeat("z", 5_000)},
	} {
		squeeze(table, restLimit)
		if size := tableSize(table); size > restLimit {
			t.Errorf("%s: still %d bytes", name, size)
		}
		if table[headerCut] == nil {
			t.Errorf("%s: not recorded", name)
		}
		for header, v := range table {
			if s, ok := v.(string); ok && !utf8.ValidString(s) {
				t.Errorf("%s: %s was cut inside of a character", name, header)
			}
		}
	}
	small := amqp.Table{"a": "b"}
	squeeze(small, restLimit)
	if len(small) != 1 {
		t.Errorf("a small one was changed: %v", small)
	}
}

func TestCutText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"aé", 2, "a"}, {"é", 1, ""}, {"\xff\xfe\xfd", 2, "\xff\xfe"}, {"", 0, ""}} {
		if got := cutText(c.s, c.n); got != c.want {
			t.Errorf("cutText(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
