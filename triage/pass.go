package triage

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Outcome is what a verb did. The counts are right when an error came with
// them, too: the verb did so much before it ended.
type Outcome struct {
	// Total is how many messages the verb set out to look at. What arrived
	// later is not among them.
	Total int `json:"total"`

	// Moved is how many were replayed, resumed, removed or answered.
	Moved int `json:"moved"`

	// Refused are picked messages that must not be moved; each was told to
	// the verb's Refused function.
	Refused int `json:"refused"`

	// Unmatched are those that the selection does not pick, Elsewhere those
	// that belong to other queues, Unknown those of which nobody can say.
	Unmatched int `json:"unmatched"`
	Elsewhere int `json:"elsewhere"`
	Unknown   int `json:"unknown"`

	// Gone is how many of Total were not there any more: somebody else took
	// them after they were counted, or the broker had not yet given back what
	// somebody looked at.
	Gone int `json:"gone"`
}

// Left is how many of Total were not looked at, since the verb ended before.
func (o Outcome) Left() int {
	return max(o.Total-o.Moved-o.Refused-o.Unmatched-o.Elsewhere-o.Unknown-o.Gone, 0)
}

// Kept is how many of Total stay where they were.
func (o Outcome) Kept() int { return max(o.Total-o.Moved-o.Gone, 0) }

// Refusal is a picked message that must not be moved, and why.
type Refusal struct {
	Message *broker.Stored
	Why     string
}

// Bounds is what the moving verbs have in common.
type Bounds struct {
	// Select picks the messages.
	Select Selection

	// Limit is how many messages to move at most; 0 is no limit.
	Limit int

	// Window is how many messages wait, as it was counted before, so that
	// newcomers are not swept along. 0 means that the verb counts them.
	Window int

	// Rate is how many messages a second to move at most; 0 is no limit.
	Rate float64

	// Moved is told how many were moved so far, and Refused of each refusal;
	// both may be nil and must not block.
	Moved   func(Outcome)
	Refused func(Refusal)
}

// act says what to do with a picked message, or why it is refused.
type act func(m *broker.Stored) (a broker.Action, refusal string, err error)

// pass is one sift of one place. Its counts come from two sides: what was
// moved is known by the sifter, and why the rest was not by the pick.
type pass struct {
	Bounds
	place Place
	look  int // how many messages to look at, from the head; 0 is no limit
	act   act
	pace  *pacer
	now   time.Time

	asked   int  // messages that act told to move
	stopped bool // the pick ended the sift

	mu      sync.Mutex
	outcome Outcome
}

func newPass(place Place, b Bounds, a act) *pass {
	return &pass{Bounds: b, place: place, act: a, pace: newPacer(b.Rate), now: time.Now()}
}

func (p *pass) run(ctx context.Context, s broker.Sifter) (Outcome, error) {
	if err := p.Select.Validate(); err != nil {
		return Outcome{}, err
	}
	if p.Window == 0 {
		depth, err := s.Depth(ctx, p.place.Queue)
		if err != nil {
			return Outcome{}, err
		}
		p.Window = depth.Messages
	}
	if p.Window == 0 {
		return Outcome{}, nil
	}
	if p.look == 0 || p.look > p.Window {
		p.look = p.Window
	}
	p.outcome.Total = p.look
	done, err := s.Sift(ctx, p.place.Queue, broker.SiftOptions{Limit: p.look, Settled: p.settled}, p.pick)
	p.settled(done)
	if err == nil && !p.stopped {
		p.outcome.Gone = max(p.look-done.Seen, 0)
	}
	return p.outcome, err
}

func (p *pass) pick(ctx context.Context, m *broker.Stored) (broker.Action, error) {
	if p.Limit > 0 && p.asked >= p.Limit {
		p.stopped = true
		return broker.Action{Verb: broker.VerbStop}, nil
	}
	if !p.meant(m) {
		return broker.Action{}, nil
	}
	a, refusal, err := p.act(m)
	switch {
	case err != nil:
		p.stopped = true
		return broker.Action{Verb: broker.VerbStop}, err
	case refusal != "":
		p.refuse(m, refusal)
		return broker.Action{}, nil
	case a.Verb == broker.VerbKeep:
		return a, nil
	case a.Verb == broker.VerbStop:
		p.stopped = true
		return a, nil
	}
	if err := p.pace.wait(ctx); err != nil {
		p.stopped = true
		return broker.Action{Verb: broker.VerbStop}, err
	}
	p.asked++
	return a, nil
}

// meant reports whether the verb is about m, and counts why not.
func (p *pass) meant(m *broker.Stored) bool {
	meant, unknown := p.place.has(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case unknown:
		p.outcome.Unknown++
	case !meant:
		p.outcome.Elsewhere++
	case !p.Select.Match(m, p.now):
		p.outcome.Unmatched++
	default:
		return true
	}
	return false
}

func (p *pass) refuse(m *broker.Stored, why string) {
	p.mu.Lock()
	p.outcome.Refused++
	p.mu.Unlock()
	if p.Refused != nil {
		p.Refused(Refusal{Message: m, Why: why})
	}
}

// settled is called by the sifter, from a goroutine of its own choice.
func (p *pass) settled(s broker.Sifted) {
	p.mu.Lock()
	p.outcome.Moved = moved(s)
	now := p.outcome
	p.mu.Unlock()
	if p.Moved != nil {
		p.Moved(now)
	}
}

func moved(s broker.Sifted) int { return s.Copied + s.Dropped + s.Replied }

// pacer spaces out the moves of a verb evenly, so that the last of a thousand
// is no burst either.
type pacer struct {
	every time.Duration
	next  time.Time
}

func newPacer(perSecond float64) *pacer {
	if perSecond <= 0 {
		return &pacer{}
	}
	return &pacer{every: time.Duration(float64(time.Second) / perSecond)}
}

func (p *pacer) wait(ctx context.Context) error {
	if p.every == 0 {
		return ctx.Err()
	}
	now := time.Now()
	pause := p.next.Sub(now)
	if pause < 0 {
		// No catching up: a stall would be followed by a burst.
		p.next = now
	}
	p.next = p.next.Add(p.every)
	if pause <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
