package doctor

import "github.com/holdfast-mq/holdfast/alerts"

// prometheusChecks look at whether alerts would come: at the wiring, not at the
// file.
var prometheusChecks = []Check{ruleMissing, ruleIdle, ruleDiffers, metricMissing, noAlertmanager, targetDown}

// watchPage is for what nobody would be woken by.
const watchPage = "index.md"

// loaded returns the rule of that name, or nil.
func (p *PrometheusFacts) loaded(name string) *Rule {
	for i := range p.Rules {
		if p.Rules[i].Name == name {
			return &p.Rules[i]
		}
	}
	return nil
}

// shipped returns the shipped rule of that name, if it is one.
func shipped(name string) (alerts.Rule, bool) {
	for _, r := range alerts.All() {
		if r.Name == name {
			return r, true
		}
	}
	return alerts.Rule{}, false
}

// reload is how a changed rule file is read.
func (p *PrometheusFacts) reload() string {
	return "curl -X POST " + p.URL + "/-/reload"
}
