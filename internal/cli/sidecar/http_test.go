package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
)

// said is the verdict that a handler's error carries, as the core reads it.
func said(err error) string {
	if err == nil {
		return "done"
	}
	var v interface {
		HoldfastVerdict() (string, time.Duration)
	}
	if !errors.As(err, &v) {
		return "none"
	}
	kind, after := v.HoldfastVerdict()
	if after > 0 {
		kind += " after " + after.String()
	}
	return kind
}

func message() *holdfast.Message {
	return &holdfast.Message{
		Body: []byte("the body"), ID: "m-1", CorrelationID: "c-1", ContentType: "application/json",
		Origin:  holdfast.Origin{Exchange: "shop", Key: "orders.created", Queue: "orders"},
		Attempt: 2, Try: 1, Lap: 3, Redelivered: true,
		Headers: map[string]any{
			"tenant": "acme", "n": int32(7), "x-holdfast-attempt": int64(2), "x-death": []any{},
			"bad": "a\nb", "b ad": "x", "umlaut": "ä",
		},
	}
}

// serve answers every request with what answer writes.
func serve(t *testing.T, cfg HTTPConfig, answer http.HandlerFunc) Handler {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	cfg.URL = s.URL
	h, err := HTTP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHTTP_maps_the_answer_to_a_verdict(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		status  int
		headers string
		want    string
	}{
		{200, "", "done"},
		{204, "", "done"},
		{301, "", "hold"},
		{304, "", "hold"},
		{400, "", "park"},
		{401, "", "hold"},
		{403, "", "hold"},
		{404, "", "park"},
		{405, "", "hold"},
		{408, "", "retry"},
		{409, "", "park"},
		{410, "", "park"},
		{413, "", "park"},
		{415, "", "park"},
		{422, "", "park"},
		{425, "", "retry"},
		{429, "", "hold"},
		{429, "Retry-After: 7", "retry after 7s"},
		{429, "Retry-After: 0", "retry"},
		{429, "Retry-After: soon", "hold"},
		{431, "", "park"},
		{500, "", "retry"},
		{500, "Retry-After: 7", "retry after 7s"},
		{503, "", "hold"},
		{503, "Retry-After: " + date, "retry after 1h0m0s"},
		{503, "Retry-After: Mon, 02 Jan 2006 15:04:05 GMT", "retry"},
		{504, "", "retry"},
		{200, "Holdfast-Verdict: park", "park"},
		{200, "Holdfast-Verdict: retry", "retry"},
		{200, "Holdfast-Verdict: Hold", "hold"},
		{500, "Holdfast-Verdict: discard", "discard"},
		{500, "Holdfast-Verdict: done", "done"},
		{200, "Holdfast-Verdict: dunno", "retry"},
	} {
		t.Run(fmt.Sprintf("%d_%s", tc.status, tc.headers), func(t *testing.T) {
			h := serve(t, HTTPConfig{}, func(w http.ResponseWriter, _ *http.Request) {
				if name, value, ok := strings.Cut(tc.headers, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tc.status)
			})
			_, err := h(t.Context(), message())
			got := said(err)
			if strings.HasSuffix(tc.want, "1h0m0s") {
				// A date has whole seconds, and some time passed.
				if !strings.HasPrefix(got, "retry after 59m5") {
					t.Errorf("said %s, want about an hour", got)
				}
				return
			}
			if got != tc.want {
				t.Errorf("said %s (%v), want %s", got, err, tc.want)
			}
		})
	}
}

func TestHTTP_posts_the_message(t *testing.T) {
	var got *http.Request
	var body []byte
	h := serve(t, HTTPConfig{}, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	if _, err := h(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || string(body) != "the body" {
		t.Errorf("%s %q", got.Method, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Holdfast-Attempt": "2", "Holdfast-Lap": "3", "Holdfast-Try": "1",
		"Holdfast-Message-Id": "m-1", "Holdfast-Correlation-Id": "c-1", "Holdfast-Key": "orders.created",
		"Holdfast-Exchange": "shop", "Holdfast-Queue": "orders", "Holdfast-Redelivered": "true",
		"Holdfast-Header-tenant": "acme", "Holdfast-Header-n": "7", "Holdfast-Header-umlaut": "ä",
		"Holdfast-Header-bad": "", "Holdfast-Header-x-holdfast-attempt": "", "Holdfast-Header-x-death": "",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}

func TestHTTP_keeps_the_beginning_of_an_error(t *testing.T) {
	h := serve(t, HTTPConfig{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(422)
		_, _ = w.Write([]byte("no such customer\xff" + strings.Repeat("x", 5000)))
	})
	_, err := h(t.Context(), message())
	text := err.Error()
	if !strings.HasPrefix(text, "HTTP 422 Unprocessable Entity: no such customer\ufffdx") || len(text) > 1100 {
		t.Errorf("%d bytes: %.80q", len(text), text)
	}
}

func TestHTTP_retries_what_got_no_answer(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := HTTP(HTTPConfig{URL: "http://user:secret@" + address + "/?token=secret"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h(t.Context(), message())
	if said(err) != "retry" || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("refused: %s, %v", said(err), err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("the time is over")
	h = serve(t, HTTPConfig{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that the client went away
		cancel(late)
		<-r.Context().Done()
	})
	if _, err = h(ctx, message()); said(err) != "retry" || !errors.Is(err, late) {
		t.Errorf("time-out: %s, %v", said(err), err)
	}

	h = serve(t, HTTPConfig{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err = h(t.Context(), message()); said(err) != "retry" {
		t.Errorf("cut: %s, %v", said(err), err)
	}
}

func TestHTTP_does_not_follow_redirects(t *testing.T) {
	calls := 0
	h := serve(t, HTTPConfig{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	if _, err := h(t.Context(), message()); said(err) != "hold" || calls != 1 {
		t.Errorf("%s after %d calls, %v", said(err), calls, err)
	}
}

func TestHTTP_keeps_connections(t *testing.T) {
	peers := map[string]bool{}
	h := serve(t, HTTPConfig{Concurrency: 1}, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		w.WriteHeader(500)
		_, _ = w.Write([]byte(strings.Repeat("x", 5000)))
	})
	for range 5 {
		_, _ = h(t.Context(), message())
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 5 calls in turn", len(peers))
	}
}

func TestHTTP_replies(t *testing.T) {
	h := serve(t, HTTPConfig{Reply: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("42"))
	})
	m := message()
	if reply, err := h(t.Context(), m); reply != nil || err != nil {
		t.Errorf("nobody asked: %v, %v", reply, err)
	}
	m.ReplyTo = "caller"
	reply, err := h(t.Context(), m)
	if err != nil || string(reply.Body) != "42" || reply.ContentType != "text/plain" {
		t.Errorf("%+v, %v", reply, err)
	}
	h = serve(t, HTTPConfig{Reply: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		panic(http.ErrAbortHandler)
	})
	if reply, err := h(t.Context(), m); said(err) != "retry" || reply != nil {
		t.Errorf("half a reply: %v, %v", reply, err)
	}
}

func TestHTTP_checks_its_URL(t *testing.T) {
	for _, bad := range []string{"", "localhost:80", "ftp://h", "http://", "http://u:secret@\x7f"} {
		if _, err := HTTP(HTTPConfig{URL: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
