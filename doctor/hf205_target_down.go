package doctor

import "fmt"

var targetDown = Check{
	ID: "HF205", Title: "scrape target of Holdfast's that is down, or is not there", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) (found []Finding) {
		for _, t := range f.Prometheus.Targets {
			if t.Up || !t.Ours {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("target %q of job %q", t.Address, t.Job),
				Summary:  "it has told about queues within the last day, and Prometheus cannot scrape it",
				Evidence: []string{"the last scrape: " + t.LastError},
				Notice:   "every alert on what it tells is blind; if its process is gone, what it was to do does not happen either",
				Remedy:   []string{"curl http://" + t.Address + "/metrics", "see whether its process runs, and whether Prometheus reaches this address"},
			})
		}
		if len(found) > 0 {
			return found
		}
		return unwatched(f.Prometheus)
	},
}

// unwatched finds that alerts on brokers are loaded, and nobody tells of one.
func unwatched(p *PrometheusFacts) []Finding {
	if _, scraped := p.Labels["holdfast_broker_up"]; scraped || len(p.loadedWith("holdfast_broker_up")) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Warning, Subject: "scrape of holdfast serve",
		Summary:  "no target tells holdfast_broker_up: nobody watches a broker",
		Evidence: []string{fmt.Sprintf("%d targets, and none has told it within the last hour", len(p.Targets))},
		Notice:   "every alert on queues is blind; a service that is gone is missed by nobody",
		Remedy:   []string{"holdfast serve --management http://monitor:…@rabbit:15672", "name it in prometheus.yml, under scrape_configs"},
	}}
}
