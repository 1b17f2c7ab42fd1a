package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/alerts"
)

// told are the metrics that have series from the start on, by the one that shows
// that its source is scraped. What only some brokers, tables and settings tell is
// not among them: its absence says nothing.
var told = []struct {
	source, whose, wiring string
	metrics               []string
}{
	{
		"holdfast_attached", "consumers", "give the consumer's configuration the telemetry as Observer, and Watch the consumer",
		[]string{
			"holdfast_blocked", "holdfast_braked", "holdfast_credentials_refused", "holdfast_stuck", "holdfast_settled_total", "holdfast_parked_total",
			"holdfast_unsettled_total", "holdfast_detached_total", "holdfast_slow_handlers_total", "holdfast_crashes_total",
		},
	},
	{
		"holdfast_relay_up", "relays", "give RelayConfig.Observe the telemetry's ObserveRelay, and WatchRelay the relay",
		[]string{"holdfast_relay_blocked", "holdfast_relay_differs_total"},
	},
	{
		"holdfast_outbox_up", "outboxes", "WatchOutbox the store of the relay", []string{"holdfast_outbox_blocker_seconds"},
	},
	{
		"holdfast_broker_up", "holdfast serve", "let its user see nodes, queues and connections: the tag monitoring",
		[]string{"holdfast_examined_timestamp_seconds", "holdfast_connections_blocked", "holdfast_queue_messages"},
	},
}

var metricMissing = Check{
	ID: "HF203", Title: "metric that an alert rule needs and that is not there, or without a label", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) (found []Finding) {
		for _, metric := range alerts.Metrics() {
			rules := f.Prometheus.loadedWith(metric)
			if len(rules) == 0 {
				continue
			}
			has, there := f.Prometheus.Labels[metric]
			if finding, missing := absent(f.Prometheus, metric); !there && missing {
				finding.Evidence = append(finding.Evidence, "rules that need it: "+strings.Join(rules, ", "))
				found = append(found, finding)
			}
			if finding, lacks := unlabelled(metric, has); there && lacks {
				finding.Evidence = append(finding.Evidence, "rules that use the metric: "+strings.Join(rules, ", "))
				found = append(found, finding)
			}
		}
		return found
	},
}

// loadedWith are the shipped rules that are loaded and use the metric.
func (p *PrometheusFacts) loadedWith(metric string) (rules []string) {
	for _, r := range alerts.All() {
		if p.loaded(r.Name) != nil && slices.Contains(r.Metrics(), metric) {
			rules = append(rules, r.Name)
		}
	}
	return rules
}

// absent finds a metric that its source, which is scraped, does not tell.
func absent(p *PrometheusFacts, metric string) (Finding, bool) {
	for _, t := range told {
		if _, scraped := p.Labels[t.source]; !scraped || !slices.Contains(t.metrics, metric) {
			continue
		}
		return Finding{
			Severity: Error, Subject: fmt.Sprintf("metric %q", metric),
			Summary:  "alert rules need it, and nobody has told it within the last hour",
			Evidence: []string{fmt.Sprintf("%s of %s is scraped, and %s is not", t.source, t.whose, metric)},
			Notice:   "no alert, whatever happens: a rule on a metric that is not there has nothing to tell",
			Remedy:   []string{t.wiring, "look whether metric_relabel_configs of the scrape drop it"},
		}, true
	}
	return Finding{}, false
}

// unlabelled finds a metric that a rule selects, groups or joins by a label that
// it has not.
func unlabelled(metric string, has []string) (Finding, bool) {
	var lacks []string
	for _, label := range alerts.Labels()[metric] {
		if !slices.Contains(has, label) {
			lacks = append(lacks, label)
		}
	}
	if len(lacks) == 0 {
		return Finding{}, false
	}
	return Finding{
		Severity: Error, Subject: fmt.Sprintf("metric %q", metric),
		Summary:  "alert rules use it by labels that some of its series do not have: " + strings.Join(lacks, ", "),
		Evidence: []string{"labels of ours that all its series have: " + orNone(has)},
		Notice:   "no alert, or one that does not say of which queue or destination it is",
		Remedy: []string{
			"look whether metric_relabel_configs, honor_labels or an aggregation drop or rename the label",
			"update what tells the metric: an older version may not have the label",
		},
	}, true
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
