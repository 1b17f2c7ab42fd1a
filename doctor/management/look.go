package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Snapshot reads all lists, some beside each other. What the user may not see is
// named in [Snapshot.Denied]; an error is of class [broker.ErrUnreachable],
// [broker.ErrCredentials], or [broker.ErrMissing] for a virtual host that is not
// there or not the user's.
//
// The number of calls is that of the lists, and one more for each 500 queues,
// exchanges, connections and channels.
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	before := c.calls.Load()
	s := &Snapshot{}
	if err := c.overview(ctx, s); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var errs []error
	slots := make(chan struct{}, beside)
	var reading sync.WaitGroup
	for _, l := range lists {
		slots <- struct{}{}
		reading.Go(func() {
			defer func() { <-slots }()
			var part Snapshot
			err := c.list(ctx, l, &part)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errDenied) {
				part.denied(l)
				err = nil
			}
			errs = append(errs, err)
			s.add(&part)
		})
	}
	reading.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, firstOf(errs)
	}
	if c.vhost != "" {
		s.inVHost(c.vhost)
	}
	slices.Sort(s.Denied)
	s.TakenAt, s.Calls = time.Now(), int(c.calls.Load()-before)
	return s, nil
}

// firstOf keeps one broker that is down from being told eleven times.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// add takes in the lists of a part, of which each list is in one part only.
func (s *Snapshot) add(p *Snapshot) {
	s.Nodes = append(s.Nodes, p.Nodes...)
	s.Queues = append(s.Queues, p.Queues...)
	s.Exchanges = append(s.Exchanges, p.Exchanges...)
	s.Bindings = append(s.Bindings, p.Bindings...)
	s.Policies = append(s.Policies, p.Policies...)
	s.Permissions = append(s.Permissions, p.Permissions...)
	s.TopicPermissions = append(s.TopicPermissions, p.TopicPermissions...)
	s.Connections = append(s.Connections, p.Connections...)
	s.Channels = append(s.Channels, p.Channels...)
	s.Consumers = append(s.Consumers, p.Consumers...)
	s.Denied = append(s.Denied, p.Denied...)
}

func (c *Client) overview(ctx context.Context, s *Snapshot) error {
	asked := time.Now()
	err := c.get(ctx, "overview", func(resp *http.Response) error {
		s.AskedAt = asked.Add(time.Since(asked) / 2)
		s.ServerTime, _ = http.ParseTime(resp.Header.Get("Date"))
		var o object
		if err := decode(resp.Body, &o); err != nil {
			return err
		}
		s.Overview = Overview{
			Product: o.text("product_name"), Version: o.text("rabbitmq_version"), Cluster: o.text("cluster_name"),
			RatesMode: o.text("rates_mode"), StatsOff: o.yes("disable_stats"), DefaultType: o.text("default_queue_type"),
		}
		return nil
	})
	if errors.Is(err, errDenied) {
		return fmt.Errorf("%w: the management API at %s shows %q nothing: give the user %s", broker.ErrPermission, c.base.Host, c.user, monitoring)
	}
	return err
}

func (c *Client) list(ctx context.Context, l list, s *Snapshot) error {
	take := func(o object) { l.take(s, o) }
	for n := 1; ; n++ {
		pages := 0
		err := c.get(ctx, c.path(l, n), func(resp *http.Response) (err error) {
			pages, err = page(resp.Body, take)
			return err
		})
		if errors.Is(err, errDenied) && l.grant == "" {
			return fmt.Errorf("%w: the virtual host %q is not there, or not for %q", broker.ErrMissing, c.vhost, c.user)
		}
		if n > 1 && errors.Is(err, errNoPage) {
			return nil // what was on it has gone since the page before
		}
		if err != nil || n >= pages {
			return err
		}
	}
}

func (c *Client) path(l list, n int) string {
	path := l.path
	if l.scoped && c.vhost != "" {
		path += "/" + url.PathEscape(c.vhost)
	}
	var query []string
	if l.paged {
		query = append(query, fmt.Sprintf("page=%d&page_size=%d", n, pageSize))
	}
	if l.columns != "" {
		query = append(query, "columns="+l.columns)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + strings.Join(query, "&")
}
