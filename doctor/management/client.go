package management

import (
	"context"
	"errors"
	"net/http"
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
	cfg Config
}

// New makes a client and asks nothing yet. Its error is of class
// [broker.ErrConfig].
func New(cfg Config) (*Client, error) { return &Client{cfg: cfg}, nil }

// Snapshot reads all lists. What the user may not see is named in
// [Snapshot.Denied]; an error is of class [broker.ErrUnreachable] or
// [broker.ErrCredentials].
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	return nil, errors.New("not built")
}
