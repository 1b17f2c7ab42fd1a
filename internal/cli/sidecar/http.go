package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
)

const (
	// maxErrorText is how much of an error's body is kept as its text.
	maxErrorText = 1 << 10

	// maxReply bounds a reply, which is kept in memory.
	maxReply = 16 << 20

	// maxDrain is how much of a body that nobody wants is read, so that its
	// connection can be used again.
	maxDrain = 64 << 10
)

// HTTPConfig says where messages are posted.
type HTTPConfig struct {
	// URL is an http or https URL.
	URL string

	// Concurrency is how many requests run at once, and so how many
	// connections are kept open.
	Concurrency int

	// Reply makes the body of a success the reply to a request.
	Reply bool
}

// HTTP returns a handler that posts each message to an endpoint, whose answer
// is the verdict.
func HTTP(cfg HTTPConfig) (Handler, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, errors.New("sidecar: the URL cannot be read")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("sidecar: the URL must begin with http:// or https:// and name a host")
	}
	e := &endpoint{url: u.String(), reply: cfg.Reply, client: &http.Client{
		Transport: transport(cfg.Concurrency),
		// A redirected POST becomes a GET without a body: a success of that
		// says nothing about the message.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return e.handle, nil
}

func transport(concurrency int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = max(concurrency, 1)
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
}

type endpoint struct {
	url    string
	reply  bool
	client *http.Client
}

func (e *endpoint) handle(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(m.Body))
	if err != nil {
		return nil, hold.outcome(plainError(err), 0)
	}
	setHeaders(req.Header, m)
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, retry.outcome(e.failure(ctx, err), 0)
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
		_ = resp.Body.Close()
	}()
	return e.read(ctx, m, resp)
}

func (e *endpoint) read(ctx context.Context, m *holdfast.Message, resp *http.Response) (*holdfast.Reply, error) {
	wait, waits := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	v, said := ofStatus(resp.StatusCode, waits), resp.Header.Get("Holdfast-Verdict")
	if said != "" {
		var err error
		if v, err = parseVerdict(said); err != nil {
			// Whatever it meant, "done" would be the one wrong guess.
			return nil, retry.outcome(err, 0)
		}
	}
	if v != done {
		return nil, v.outcome(statusError(resp), wait)
	}
	if !e.reply || m.ReplyTo == "" {
		return nil, nil
	}
	body, err := readAll(resp.Body)
	if err != nil {
		return nil, retry.outcome(fmt.Errorf("the reply: %w", e.failure(ctx, err)), 0)
	}
	return &holdfast.Reply{Body: body, ContentType: resp.Header.Get("Content-Type"), Type: resp.Header.Get("Holdfast-Type")}, nil
}

// failure is why a request got no answer: a deadline by its name, anything
// else without the URL, which may carry a token.
func (e *endpoint) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return plainError(err)
}

func plainError(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

func statusError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorText))
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\ufffd"))
	if text == "" {
		return fmt.Errorf("HTTP %s", resp.Status)
	}
	return fmt.Errorf("HTTP %s: %s", resp.Status, text)
}

func readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxReply+1))
	if err == nil && len(body) > maxReply {
		return nil, fmt.Errorf("larger than %d bytes", maxReply)
	}
	return body, err
}

// setHeaders tells the endpoint about m. What HTTP cannot carry (a control
// character in a value, a space in a name) is left out: a request that is
// refused for it would fail for ever.
func setHeaders(h http.Header, m *holdfast.Message) {
	set := func(name, value string) {
		if validName(name) && validValue(value) {
			h.Set(name, value)
		}
	}
	set("User-Agent", "holdfast")
	if m.ContentType != "" {
		set("Content-Type", m.ContentType)
	}
	if m.ContentEncoding != "" {
		set("Content-Encoding", m.ContentEncoding)
	}
	for _, f := range factsOf(m) {
		set("Holdfast-"+f.name, f.value)
	}
	for _, f := range headersOf(m) {
		set("Holdfast-Header-"+f.name, f.value)
	}
}

// validName reports whether s is a token of RFC 9110.
func validName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// validValue reports whether s has no control character but the tab.
func validValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}
