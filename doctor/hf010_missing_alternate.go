package doctor

import "fmt"

var missingAlternate = Check{
	ID: "HF010", Title: "alternate exchange that does not exist", Needs: SourceRabbitMQ, Runbook: "binding-nothing-publishes.md",
	Find: func(f *Facts) (found []Finding) {
		for _, e := range f.RabbitMQ.Exchanges {
			alternate := alternateOf(e, f.RabbitMQ.Policies)
			v := f.vhost(e.VHost)
			if alternate == "" || v.index.Exchange(alternate) != nil {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: v.subject("exchange", e.Name),
				Summary:  fmt.Sprintf("its alternate exchange %q does not exist: what no binding takes is dropped", alternate),
				Evidence: []string{fmt.Sprintf("alternate-exchange in force: %q", alternate)},
				Notice:   "messages under a key that nothing binds are gone, although somebody had made a place for them",
				Remedy:   []string{fmt.Sprintf("declare the exchange %q with a queue behind it", alternate)},
			})
		}
		return found
	},
}

// vhost returns one virtual host of the snapshot.
func (f *Facts) vhost(name string) *vhost {
	for _, v := range f.vhosts() {
		if v.name == name {
			return v
		}
	}
	return nil
}
