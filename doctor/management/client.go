package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// pageSize is the most that the API gives in one page.
	pageSize = 500

	// callTimeout bounds one call; a list of 20,000 bindings takes about a second.
	callTimeout = time.Minute

	// beside is how many calls run at once. More would only make the broker's own
	// statistics slower.
	beside = 3
)

// Config says which broker.
type Config struct {
	// URL is http(s)://user:password@host:15672, with a path where a proxy adds
	// one. It is never printed.
	URL string

	// VHost limits the lists to one virtual host; empty is all that the user may
	// see.
	VHost string

	// HTTP is [http.DefaultClient] when nil.
	HTTP *http.Client
}

// Client reads one broker's management API. It may be used concurrently.
type Client struct {
	base     *url.URL // without credentials
	user     string
	password string
	vhost    string
	http     *http.Client
	calls    atomic.Int64
}

// New makes a client and asks nothing yet. Its error is of class
// [broker.ErrConfig].
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// An error of net/url would quote the password.
		return nil, fmt.Errorf("%w: the URL of the management API is http(s)://user:password@host:15672", broker.ErrConfig)
	}
	if u.User == nil {
		return nil, fmt.Errorf("%w: the URL of the management API has no user", broker.ErrConfig)
	}
	c := &Client{user: u.User.Username(), vhost: cfg.VHost, http: cfg.HTTP}
	c.password, _ = u.User.Password()
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimSuffix(u.Path, "/")
	c.base = u
	if c.http == nil {
		c.http = http.DefaultClient
	}
	return c, nil
}

// errDenied is a list that this user may not see, or that this broker lacks.
var errDenied = errors.New("denied")

// errNoPage is how the API refuses a page beyond the last.
var errNoPage = errors.New("no such page")

// get makes one call; read takes its answer.
func (c *Client) get(ctx context.Context, path string, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+"/api/"+path, nil)
	if err != nil {
		return fmt.Errorf("%w: the management API: the path %q cannot be asked", broker.ErrConfig, path)
	}
	req.SetBasicAuth(c.user, c.password)
	c.calls.Add(1)
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: the management API at %s does not answer: %w", broker.ErrUnreachable, c.base.Host, withoutURL(err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		if missingTag(resp.Body) {
			return errDenied
		}
		return fmt.Errorf("%w: the management API at %s refuses the login of %q: the password, or the user has no tag (rabbitmqctl set_user_tags %s monitoring)",
			broker.ErrCredentials, c.base.Host, c.user, c.user)
	case http.StatusForbidden, http.StatusNotFound:
		return errDenied
	case http.StatusBadRequest:
		return fmt.Errorf("%w: the management API at %s answers %s to %s: %w", broker.ErrUnreachable, c.base.Host, resp.Status, place(path), errNoPage)
	default:
		return fmt.Errorf("%w: the management API at %s answers %s to %s", broker.ErrUnreachable, c.base.Host, resp.Status, place(path))
	}
	if err := read(resp); err != nil {
		return fmt.Errorf("%w: the management API at %s: the answer to %s cannot be read: %w", broker.ErrUnreachable, c.base.Host, place(path), err)
	}
	return nil
}

// missingTag reports whether it is the list that is refused, and not the login:
// RabbitMQ answers 401 to both, and names the tag that is missing.
func missingTag(body io.Reader) bool {
	var answer struct{ Reason string }
	_ = json.NewDecoder(io.LimitReader(body, 4096)).Decode(&answer)
	return strings.HasPrefix(answer.Reason, "Not ") && answer.Reason != "Not management user"
}

// place is a path without its query.
func place(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// withoutURL drops what net/http puts before its errors.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
