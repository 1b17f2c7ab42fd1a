package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// lookTimeout bounds one look: a broker that hangs is one that cannot be looked
// at, and the next look is due.
const lookTimeout = time.Minute

// LookoutConfig says what a [Lookout] looks at.
type LookoutConfig struct {
	// Examine gathers the facts of one look, as [Gather] does; before is what
	// the look before saw of a RabbitMQ. An error is that nothing answered.
	Examine func(ctx context.Context, before *management.Snapshot) (*doctor.Facts, error)

	// Every is the time from one look to the next.
	Every time.Duration

	// Heads looks at the oldest message of parked queues in the virtual host
	// VHost, where the broker does not tell its age. It may be nil.
	Heads broker.Sifter
	VHost string

	Logger *slog.Logger
}

// Lookout looks at a broker again and again and knows what it saw last. A broker
// that is down is something to tell, and never an end. Its methods may be called
// concurrently.
type Lookout struct {
	cfg   LookoutConfig
	heads heads

	mu   sync.Mutex
	seen sight
}

// sight is what was seen.
type sight struct {
	began    time.Time     // the last look
	complete time.Time     // the last one that missed nothing it was to look at
	facts    *doctor.Facts // of the last one that was answered
	report   doctor.Report // made of them
	err      error         // why the last one was not answered
}

// NewLookout makes a lookout that has seen nothing yet.
func NewLookout(cfg LookoutConfig) *Lookout {
	return &Lookout{cfg: cfg, heads: heads{sifter: cfg.Heads, vhost: cfg.VHost}}
}

// Run looks until ctx ends and returns nil then. An error is of the first look,
// and that what it was told to look at can never be looked at.
func (l *Lookout) Run(ctx context.Context) error {
	tick := time.NewTicker(l.cfg.Every)
	defer tick.Stop()
	l.look(ctx)
	if err := l.sight().err; errors.Is(err, broker.ErrConfig) || errors.Is(err, store.ErrConfig) {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.look(ctx)
		}
	}
}

func (l *Lookout) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var before *management.Snapshot
	l.note(func(s *sight) {
		s.began = time.Now()
		if s.facts != nil {
			before = s.facts.RabbitMQ
		}
	})
	facts, err := l.cfg.Examine(ctx, before)
	if err != nil {
		l.failed(ctx, err)
		return
	}
	report := doctor.Examine(facts)
	if facts.RabbitMQ != nil {
		l.heads.look(ctx, facts)
	}
	var failed error
	l.note(func(s *sight) {
		failed = s.err
		s.facts, s.report, s.err = facts, report, nil
		if len(facts.Missed) == 0 {
			s.complete = time.Now()
		}
	})
	if failed != nil {
		l.cfg.Logger.Info("holdfast: it can be looked at again")
	}
}

// failed tells of the first failure in a row.
func (l *Lookout) failed(ctx context.Context, err error) {
	if ctx.Err() == context.Canceled {
		return // it is the end, and no fault
	}
	var before error
	l.note(func(s *sight) { before, s.err = s.err, err })
	if before == nil {
		l.cfg.Logger.Error("holdfast: nothing can be looked at", "error", err)
	}
}

func (l *Lookout) note(f func(*sight)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.seen)
}

func (l *Lookout) sight() sight {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// Look is what metrics tell of the last look.
func (l *Lookout) Look() telemetry.BrokerLook {
	s := l.sight()
	look := telemetry.BrokerLook{ExaminedAt: s.complete}
	if s.err != nil || s.facts == nil {
		return look
	}
	switch {
	case s.facts.RabbitMQ != nil:
		look.Up = true
		look.Queues, look.Nodes, look.Blocked = queueLooks(s.facts), nodeLooks(s.facts), blockedConnections(s.facts)
		look.Parked = l.heads.ages(s.facts, time.Now())
	case s.facts.Broker != nil:
		look.Up = true
		look.Queues = surveyLooks(s.facts.Broker)
	}
	look.Findings = countFindings(s.report)
	return look
}
