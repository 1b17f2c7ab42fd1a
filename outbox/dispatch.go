package outbox

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	// idleAfter is how many looks in a row must find nothing before the relay
	// asks to be woken: an idle relay costs producers a notification.
	idleAfter = 3

	// carefulBatch is the most that is claimed of a lane at once where rows are
	// left for a human: after a crash these are all that was claimed, published
	// or not.
	carefulBatch = 50

	// lastWords bounds what a relay still writes when it has stopped.
	lastWords = 5 * time.Second
)

// dispatcher is the one goroutine that knows which lanes a relay has and who
// works on them.
type dispatcher struct {
	*Relay
	self   store.Relay
	roster *roster
	lanes  map[int]*lane
	queue  []*lane // those with rows, in turn
	done   chan report
	busy   int

	until    time.Duration // up to when a lane that is taken now is held
	nextBeat time.Duration
	nextLook time.Duration
	lastLook time.Duration
	poll     time.Duration
	empty    int     // looks in a row that found nothing
	patience backoff // with the database

	resume  time.Duration // when to claim again after claims that failed
	stumble backoff
}

func newDispatcher(r *Relay) *dispatcher {
	mine := settingsOf(r.cfg)
	self := store.Relay{ID: newID(time.Now()), Name: r.cfg.Name, Settings: mine.String()}
	return &dispatcher{
		Relay: r, self: self, roster: newRoster(self.ID, mine), lanes: map[int]*lane{},
		done: make(chan report, r.cfg.Parallel), poll: r.cfg.MinPoll,
	}
}

func (d *dispatcher) run(ctx context.Context) {
	hard, cut := context.WithCancel(context.Background())
	defer cut()
	d.openKnown(ctx)
	d.tell(RelayEvent{Kind: RelayStarted})
	for ctx.Err() == nil {
		if d.now() >= d.nextBeat {
			d.beat(ctx)
		}
		if d.now() >= d.nextLook {
			d.look(ctx)
		}
		d.assign(ctx, hard)
		d.rest(ctx)
	}
	d.stop(cut)
}

// openKnown begins to open the destinations of the rows that wait, before any
// is claimed: what this relay may not write to is then not claimed at all.
// Destinations that it does not learn of here are opened by their first row.
func (d *dispatcher) openKnown(ctx context.Context) {
	var s store.Status
	err := d.call(ctx, func(ctx context.Context) (err error) {
		s, err = d.cfg.Outbox.Status(ctx)
		return err
	})
	if err != nil {
		return
	}
	for _, g := range s.Groups {
		if g.State == store.Pending || g.State == store.Publishing {
			d.exits.get(g.Destination)
		}
	}
}

// look asks which lanes have rows to claim.
func (d *dispatcher) look(ctx context.Context) {
	if d.now() < d.resume {
		d.nextLook = d.resume
		return
	}
	claims := d.claims()
	if d.gate.isShut() || len(claims) == 0 {
		d.nextLook = d.now() + d.cfg.MaxPoll // the end of either is told
		return
	}
	d.lastLook = d.now()
	var due []int
	err := d.call(ctx, func(ctx context.Context) (err error) {
		due, err = d.cfg.Outbox.Due(ctx, claims)
		return err
	})
	if err != nil {
		d.nextLook = d.now() + d.patience.next(firstWait, longWait)
		return
	}
	for _, n := range due {
		if l := d.lanes[n]; l != nil && l.free() && !l.queued {
			l.queued = true
			d.queue = append(d.queue, l)
		}
	}
	d.seen(ctx, len(due) > 0)
}

// seen sets when to look again. The relay says that it is idle before its last
// look, so that a row which is committed after that look wakes it.
func (d *dispatcher) seen(ctx context.Context, found bool) {
	if found || d.busy > 0 {
		d.empty = 0
	} else {
		d.empty++
	}
	d.nextLook = d.now() + d.poll
	d.poll = min(2*d.poll, d.cfg.MaxPoll)
	switch idle := d.empty >= idleAfter; {
	case idle && !d.self.Idle:
		d.self.Idle = true
		d.beat(ctx)
		d.nextLook = 0
	case !idle && d.self.Idle:
		d.self.Idle = false
		d.nextBeat = 0
	}
}

// claims are of the lanes that a batch could be started of.
func (d *dispatcher) claims() (claims []store.Claim) {
	skip, rules := d.exits.skip(), d.roster.rules()
	for n := range store.Lanes {
		if l := d.lanes[n]; l != nil && l.free() && !l.queued {
			claims = append(claims, d.claim(l, skip, rules))
		}
	}
	return claims
}

func (d *dispatcher) claim(l *lane, skip []string, rules rules) store.Claim {
	c := store.Claim{Lane: l.number, Relay: d.self.ID, Token: l.token, Limit: d.limit(), Skip: skip}
	rules.apply(&c)
	if c.LeaveAll || len(c.Leave) > 0 {
		c.Limit = min(c.Limit, carefulBatch)
	}
	return c
}

// assign starts work on the lanes whose turn it is.
func (d *dispatcher) assign(ctx, hard context.Context) {
	for d.busy < d.cfg.Parallel && len(d.queue) > 0 && !d.gate.isShut() && d.now() >= d.resume && d.inTrouble() == nil {
		l := d.queue[0]
		d.queue = d.queue[1:]
		l.queued = false
		if d.lanes[l.number] != l || !l.free() || !l.mayPublish(d.now()) {
			continue
		}
		l.busy = true
		d.busy++
		rules := d.roster.rules()
		claim := d.claim(l, d.exits.skip(), rules)
		go func() { d.done <- d.work(ctx, hard, l, claim, rules) }()
	}
}

func (d *dispatcher) inTrouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

// ended takes in what came of a batch.
func (d *dispatcher) ended(ctx context.Context, r report) {
	l := r.lane
	l.busy = false
	d.busy--
	if d.lanes[l.number] != l {
		return // lost meanwhile
	}
	// A claim without an answer may have claimed, and what is not written is
	// perhaps somebody else's: both are settled by taking the lane anew.
	l.lapsed = l.lapsed || r.fenced || r.err != nil
	d.stumbled(r.err)
	if l.lapsed {
		d.nextBeat = 0
	}
	if l.excess {
		d.yieldExcess(ctx)
		return
	}
	if r.claimed > 0 {
		d.poll = d.cfg.MinPoll
	}
	d.lookSoon()
	if r.full && l.free() {
		l.queued = true
		d.queue = append(d.queue, l)
	}
}

// stumbled keeps claims that fail from following each other at once: a beat
// that succeeds in between says nothing about them.
func (d *dispatcher) stumbled(err error) {
	if err == nil {
		d.stumble.reset()
		return
	}
	d.resume = d.now() + d.stumble.next(firstWait, longWait)
}

// lookSoon brings the next look forward. What wakes the relay often does not
// make it look more often than it polls.
func (d *dispatcher) lookSoon() { d.nextLook = min(d.nextLook, d.lastLook+d.cfg.MinPoll) }

// rest waits until there is something to do.
func (d *dispatcher) rest(ctx context.Context) {
	d.show(0)
	wait := max(min(d.nextBeat, d.nextLook)-d.now(), 0)
	if d.self.Idle && d.busy == 0 {
		d.sleep(ctx, wait)
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-d.done:
		d.ended(ctx, r)
		for len(d.done) > 0 {
			d.ended(ctx, <-d.done)
		}
	case <-d.exits.wake:
		d.lookSoon()
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sleep waits for the store to say that there may be rows.
func (d *dispatcher) sleep(ctx context.Context, wait time.Duration) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		err = d.cfg.Outbox.Wait(bounded, wait)
	}()
	start := d.now()
	select {
	case <-woken:
		if err != nil && ctx.Err() == nil {
			d.noteDatabase(err)
			pause(ctx, wait)
		}
		if d.now()-start < wait {
			d.lookSoon()
		}
	case <-d.exits.wake:
		cancel()
		<-woken
		d.lookSoon()
	}
}

// stop ends the relay: nothing new is begun, what is under way is waited for
// and recorded, and each lane goes to the others as soon as nobody works on it.
func (d *dispatcher) stop(cut context.CancelFunc) {
	ctx := context.Background()
	for _, l := range d.lanes {
		l.excess = true
	}
	d.yieldExcess(ctx)
	grace := time.AfterFunc(d.cfg.Grace, d.exits.cut) // outlets then call what is under way unknown
	defer grace.Stop()
	d.exits.stop()
	last := time.AfterFunc(d.cfg.Grace+lastWords, cut)
	defer last.Stop()
	beats := time.NewTicker(d.beatEvery())
	defer beats.Stop()
	for d.busy > 0 {
		select {
		case r := <-d.done:
			d.ended(ctx, r)
		case <-beats.C: // nobody is to take what is still being recorded
			_ = d.call(ctx, func(ctx context.Context) error { _, err := d.cfg.Outbox.Beat(ctx, d.self); return err })
		}
	}
	d.yield(ctx, nil, true)
	d.mu.Lock()
	d.view.stopped, d.view.lanes, d.view.busy = true, 0, 0
	d.mu.Unlock()
	d.tell(RelayEvent{Kind: RelayStopped})
}

// show makes the state visible; alive is 0 where it has not been counted.
func (d *dispatcher) show(alive int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := view{id: d.self.ID, lanes: len(d.lanes), busy: d.busy, relays: d.view.relays, idle: d.self.Idle && d.busy == 0}
	if alive > 0 {
		v.relays = alive
	}
	d.view = v
}
