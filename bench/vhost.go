package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const cleanupTime = 30 * time.Second

// rabbitSite is a virtual host.
type rabbitSite struct {
	*house
	url  string
	drop func() error
}

func (s server) prepare(ctx context.Context, _ int) (site, error) {
	url, drop, err := s.vhost(ctx)
	if err != nil {
		return nil, err
	}
	h, err := openHouse(ctx, url)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	return &rabbitSite{h, url, drop}, nil
}

func (s *rabbitSite) cell(c *clock) cell { return cell{url: s.url, clock: c} }

func (s *rabbitSite) remove() error {
	s.close()
	return s.drop()
}

// vhost makes a virtual host for one run, so that every contestant starts on
// a broker that knows nothing of the one before. drop removes it with all that
// is in it.
func (s server) vhost(ctx context.Context) (address string, drop func() error, err error) {
	u, err := url.Parse(s.url)
	if err != nil || u.User == nil {
		return "", nil, errors.New("the URL of the broker must be amqp://user:password@host:port/")
	}
	name := "bench-" + strings.ToLower(rand.Text()[:10])
	path := "/api/vhosts/" + name
	drop = func() error {
		// Also after an interrupt, or the queues would stay.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		return s.manage(ctx, http.MethodDelete, path, nil)
	}
	if err := s.manage(ctx, http.MethodPut, path, struct{}{}); err != nil {
		return "", nil, err
	}
	all := map[string]string{"configure": ".*", "write": ".*", "read": ".*"}
	if err := s.manage(ctx, http.MethodPut, "/api/permissions/"+name+"/"+url.PathEscape(u.User.Username()), all); err != nil {
		return "", nil, errors.Join(err, drop())
	}
	u.Path, u.RawPath = "/"+name, ""
	return u.String(), drop, nil
}

// manage makes one request to the management API.
func (s server) manage(ctx context.Context, method, path string, body any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.management, "/")+path, &content)
	if err != nil {
		return errors.New("the management URL is not one") // the error would show the password
	}
	if req.URL.User != nil {
		password, _ := req.URL.User.Password()
		req.SetBasicAuth(req.URL.User.Username(), password)
		req.URL.User = nil
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("management API: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("management API: %s %s: %s", method, path, resp.Status)
	}
	return nil
}
