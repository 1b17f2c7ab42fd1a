package jetstream

import (
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// wire returns what becomes of headers on their way to a server.
func wire(t testing.TB) func(testing.TB, nats.Header) nats.Header {
	t.Helper()
	got := make(chan nats.Header, 1)
	c := mustDial(t, &fake{published: func(_ *fake, m *nats.Msg) { got <- m.Header }})
	return func(t testing.TB, h nats.Header) nats.Header {
		t.Helper()
		if err := c.nc.PublishMsg(&nats.Msg{Subject: "s", Header: h}); err != nil {
			t.Fatal(err)
		}
		select {
		case h := <-got:
			return h
		case <-time.After(soon):
			t.Fatal("the headers do not arrive")
			return nil
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "plain", "naïve – 漢字 🎈": "naïve – 漢字 🎈", "a b": "a b", " a ": "%20a%20", "100 %": "100 %25",
		"line\r\nline": "line%0d%0aline", "\t": "%09", "\x00\x7f": "%00%7f", "%41": "%2541", "\u00a0a\u2028": "\u00a0a\u2028",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q is written %q, not %q", text, got, want)
		}
		if got := unescape(want); got != text {
			t.Errorf("%q is read as %q", want, got)
		}
	}
	for _, text := range []string{"%", "a%", "%4", "%zz", "50 % of it", "%%"} {
		if got := unescape(text); got != text {
			t.Errorf("%q, which nobody escaped, is read as %q", text, got)
		}
	}
}

// line is a header's value as the client writes it: without the ends, on one
// line.
func line(v string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(textproto.TrimString(v))
}

func TestLine(t *testing.T) {
	t.Parallel()
	send := wire(t)
	for _, v := range []string{"a", " a\t", "a\r\nb", "\u00a0a\u2028", "\x00\x7f\xff", "a: b", ""} {
		if got := first(send(t, nats.Header{"X": {v}}), "X"); got != line(v) {
			t.Errorf("the client writes %q as %q, not %q", v, got, line(v))
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "a", " a\r\nb %0a% ", "%", "\xff\xfe", "\u0085x\u00a0", "\x00", ": :"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := nats.DecodeHeadersMsg([]byte("NATS/1.0\r\nX: " + line(escape(text)) + "\r\nY: end\r\n\r\n"))
		if err != nil || len(h) != 2 || unescape(first(h, "X")) != text {
			t.Errorf("%q came as %q, %v", text, h, err)
		}
	})
}
