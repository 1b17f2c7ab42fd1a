package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/alerts"
	"github.com/holdfast-mq/holdfast/broker"
)

// LookAtPrometheus asks a Prometheus over its HTTP API, version 2 or 3, at
// http(s)://user:password@host:9090, which is never printed. An error is of
// class [broker.ErrConfig], [broker.ErrCredentials] or [broker.ErrUnreachable].
func LookAtPrometheus(ctx context.Context, address string) (*PrometheusFacts, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: the URL of a Prometheus is http(s)://host:9090", broker.ErrConfig)
	}
	p := prometheus{user: u.User, facts: &PrometheusFacts{Labels: map[string][]string{}}}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimSuffix(u.Path, "/")
	p.base, p.facts.URL = u.String(), u.String()
	for _, step := range []func(context.Context) error{p.rules, p.targets, p.ours, p.alertmanagers, p.labels} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p.facts, nil
}

type prometheus struct {
	base  string
	user  *url.Userinfo
	facts *PrometheusFacts
}

func (p prometheus) get(ctx context.Context, path string, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/"+path, nil)
	if err != nil {
		return fmt.Errorf("%w: Prometheus: the address cannot be asked", broker.ErrConfig)
	}
	if p.user != nil {
		password, _ := p.user.Password()
		req.SetBasicAuth(p.user.Username(), password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err
		}
		return fmt.Errorf("%w: Prometheus does not answer: %w", broker.ErrUnreachable, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: Prometheus answers %s", broker.ErrCredentials, resp.Status)
	default:
		return fmt.Errorf("%w: Prometheus answers %s", broker.ErrUnreachable, resp.Status)
	}
	answer := struct {
		Data any `json:"data"`
	}{data}
	if json.NewDecoder(resp.Body).Decode(&answer) != nil { // its error would print our own types
		return fmt.Errorf("%w: what answers is no Prometheus", broker.ErrUnreachable)
	}
	return nil
}

func (p prometheus) rules(ctx context.Context) error {
	var data struct {
		Groups []struct {
			Name     string  `json:"name"`
			Interval float64 `json:"interval"`
			Rules    []struct {
				Name      string    `json:"name"`
				Query     string    `json:"query"`
				Health    string    `json:"health"`
				LastError string    `json:"lastError"`
				Evaluated time.Time `json:"lastEvaluation"`
				State     string    `json:"state"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := p.get(ctx, "rules?type=alert", &data); err != nil {
		return err
	}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			p.facts.Rules = append(p.facts.Rules, Rule{
				Group: g.Name, Name: r.Name, Query: r.Query, Health: r.Health, LastError: r.LastError,
				Evaluated: r.Evaluated, Interval: time.Duration(g.Interval * float64(time.Second)), State: r.State,
			})
		}
	}
	return nil
}

func (p prometheus) targets(ctx context.Context) error {
	var data struct {
		Active []struct {
			Labels    map[string]string `json:"labels"`
			ScrapeURL string            `json:"scrapeUrl"`
			Health    string            `json:"health"`
			LastError string            `json:"lastError"`
		} `json:"activeTargets"`
	}
	if err := p.get(ctx, "targets?state=active", &data); err != nil {
		return err
	}
	for _, t := range data.Active {
		p.facts.Targets = append(p.facts.Targets, Target{
			Job: t.Labels["job"], Address: t.Labels["instance"], Up: t.Health != "down", LastError: t.LastError,
		})
	}
	return nil
}

// ours asks which targets have told what only Holdfast tells.
func (p prometheus) ours(ctx context.Context) error {
	var data struct {
		Result []series `json:"result"`
	}
	const query = "group by (job, instance) (last_over_time(holdfast_attached[1d]) or last_over_time(holdfast_relay_up[1d]) or last_over_time(holdfast_broker_up[1d]))"
	if err := p.get(ctx, "query?query="+url.QueryEscape(query), &data); err != nil {
		return err
	}
	for i, t := range p.facts.Targets {
		p.facts.Targets[i].Ours = slices.ContainsFunc(data.Result, func(s series) bool {
			return s.Metric["job"] == t.Job && s.Metric["instance"] == t.Address
		})
	}
	return nil
}

func (p prometheus) alertmanagers(ctx context.Context) error {
	var data struct {
		Active []struct{} `json:"activeAlertmanagers"`
	}
	err := p.get(ctx, "alertmanagers", &data)
	p.facts.Alertmanagers = len(data.Active)
	return err
}

// series is one of a query's answer.
type series struct {
	Metric map[string]string `json:"metric"`
}

// labels asks for each metric that a shipped rule uses which of the labels that
// the rules use all its series of the last hour have. The API for label names
// would tell those of series long gone, and of any one series.
func (p prometheus) labels(ctx context.Context) error {
	for metric, used := range alerts.Labels() {
		var data struct {
			Result []series `json:"result"`
		}
		query := fmt.Sprintf("group by (%s) (last_over_time(%s[1h]))", strings.Join(used, ", "), metric)
		if err := p.get(ctx, "query?query="+url.QueryEscape(query), &data); err != nil {
			return err
		}
		if len(data.Result) == 0 {
			continue
		}
		lacks := func(label string) bool {
			return slices.ContainsFunc(data.Result, func(s series) bool { return s.Metric[label] == "" })
		}
		p.facts.Labels[metric] = slices.DeleteFunc(used, lacks)
	}
	return nil
}
