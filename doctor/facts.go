package doctor

import (
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/topology"
)

// Facts is what was gathered. Checks only read it. What is nil was not asked
// for, or could not be had: then Blind says why.
type Facts struct {
	// Now is when the facts were complete.
	Now time.Time

	// RabbitMQ is the broker as its management API tells it. Before is the same
	// some seconds earlier, so that standing still and growth can be told; nil
	// where only one look was taken.
	RabbitMQ *management.Snapshot
	Before   *management.Snapshot

	// Heads is when the message at the head of a parked queue failed, where the
	// broker does not tell and somebody has looked.
	Heads map[Head]time.Time

	// Names says which queues of the broker are Holdfast's own.
	Names Names

	Store      *StoreFacts
	Prometheus *PrometheusFacts
	Broker     *BrokerFacts
	Service    *ServiceFacts
	Manifests  []topology.Manifest

	// Limits are the thresholds of the checks.
	Limits Limits

	// Blind names what could not be looked at, and why. Missed are the sources
	// among it that were asked for and gave nothing at all.
	Blind  []string
	Missed []Source

	split sync.Once
	parts []*vhost
}

// Head names the head of a queue.
type Head struct{ VHost, Queue string }

// sources are all of them, in the order of reports.
var sources = []Source{SourceRabbitMQ, SourceService, SourceManifests, SourceStore, SourceBroker, SourcePrometheus}

func (f *Facts) looked() []Source {
	var looked []Source
	for _, s := range sources {
		if f.has(s) {
			looked = append(looked, s)
		}
	}
	return looked
}

func (f *Facts) has(s Source) bool {
	switch s {
	case SourceRabbitMQ:
		return f.RabbitMQ != nil
	case SourceStore:
		return f.Store != nil
	case SourcePrometheus:
		return f.Prometheus != nil
	case SourceBroker:
		return f.Broker != nil
	case SourceService:
		return f.Service != nil
	case SourceManifests:
		return len(f.Manifests) > 0
	default:
		return false
	}
}

func (f *Facts) blind() []string {
	all := f.Blind
	if f.RabbitMQ != nil {
		all = append(all[:len(all):len(all)], f.RabbitMQ.Denied...)
		if f.ratesUnknown() {
			all = append(all, "whether anything moves: the broker counts no rates (management rates_mode, or its statistics are off), so that HF021 and HF022 say nothing")
		}
	}
	if f.Broker != nil {
		all = append(all[:len(all):len(all)], f.Broker.unknown()...)
	}
	return all
}

// ratesUnknown reports whether the broker counts no rates: then all of them are 0,
// and nothing seems to move.
func (f *Facts) ratesUnknown() bool {
	return f.RabbitMQ.Overview.StatsOff || f.RabbitMQ.Overview.RatesMode == "none"
}

// Limits are from when on a number is a finding. The zero value means the
// defaults.
type Limits struct {
	// ParkedAge is how old a parked message may get before somebody is to look.
	// 0 means 24 h.
	ParkedAge time.Duration

	// OutboxAge is how late a row that waits may be. 0 means 5 min.
	OutboxAge time.Duration

	// ClockSkew is how far two clocks may differ. 0 means 5 s.
	ClockSkew time.Duration
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	if l.ParkedAge == 0 {
		l.ParkedAge = 24 * time.Hour
	}
	if l.OutboxAge == 0 {
		l.OutboxAge = 5 * time.Minute
	}
	if l.ClockSkew == 0 {
		l.ClockSkew = 5 * time.Second
	}
	return l
}
