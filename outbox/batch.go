package outbox

import (
	"context"
	"strconv"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// window is how many rows of one lane may be under way at once. Eight lanes keep
// any broker busy with it, and what a driver has in hand when its process is
// paused is little.
const window = 256

// batch publishes the rows of one claim. Rows of one destination and ordering
// key form a line, of which as many are under way as the route allows; rows
// without a key wait for nobody.
type batch struct {
	relay   *Relay
	ctx     context.Context // ends when nothing new is to be published
	lane    *lane
	rules   rules
	answers chan answer
	out     chan<- store.Outcome

	ready []*flight // to be published now
	lines []*line
	under int
}

// lineName is what rows keep their order in.
type lineName struct{ destination, key string }

type line struct {
	waiting []*flight // in order
	stopped bool      // a row goes back: those behind it must, too
}

// flight is a row on its way.
type flight struct {
	row       *store.Row
	line      *line // nil for a row without an ordering key
	exit      *exit
	left      int    // keys without an answer
	confirmed uint32 // keys, one bit each
	err       error  // the worst of the others
}

func (f *flight) has(key int) bool { return f.confirmed&(1<<key) != 0 }

type answer struct {
	flight *flight
	key    int
	err    error
}

// publish returns when every row has an outcome, all of which went to out: in
// an order in which the store may write them one after the other.
func (b *batch) publish(rows []store.Row) {
	b.queue(rows)
	stop, shut := b.ctx.Done(), b.relay.gate.shut()
	for {
		for b.under < window && len(b.ready) > 0 {
			f := b.ready[0]
			b.ready = b.ready[1:]
			b.launch(f)
		}
		if b.under == 0 {
			return
		}
		select {
		case a := <-b.answers:
			b.landed(a)
		case <-stop:
			b.recall(errStopping)
			stop = nil
		case <-shut:
			b.recall(errBlocked)
			shut = nil
		}
	}
}

// recall gives back at once what is not under way, however long that which is
// may take: after a crash it would count as unknown.
func (b *batch) recall(err error) {
	ready := b.ready
	b.ready = nil
	for _, f := range ready {
		b.settle(f, err)
	}
	for _, l := range b.lines {
		b.dissolve(l, err)
	}
}

// queue lets the rows without an ordering key go, and of each line as many as
// may be under way.
func (b *batch) queue(rows []store.Row) {
	lines := map[lineName]*line{}
	keys := 0
	for i := range rows {
		row := &rows[i]
		keys += len(row.Keys)
		f := &flight{row: row, exit: b.relay.exits.get(row.Destination), confirmed: row.Confirmed}
		if row.OrderingKey == "" {
			b.ready = append(b.ready, f)
			continue
		}
		name := lineName{row.Destination, row.OrderingKey}
		if lines[name] == nil {
			lines[name] = &line{}
			b.lines = append(b.lines, lines[name])
		}
		f.line = lines[name]
		f.line.waiting = append(f.line.waiting, f)
	}
	b.answers = make(chan answer, keys) // so that no driver waits to answer
	for _, l := range b.lines {
		route := b.relay.cfg.route(l.waiting[0].row.Destination)
		for range route.InFlight {
			b.advance(l)
		}
	}
}

// advance makes the next row of a line ready.
func (b *batch) advance(l *line) {
	if len(l.waiting) > 0 {
		b.ready = append(b.ready, l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// launch publishes a row under all of its keys that are not confirmed.
func (b *batch) launch(f *flight) {
	for i := range f.row.Keys {
		if !f.has(i) {
			f.left++
		}
	}
	if f.left == 0 { // its relay ended before it could record the last one
		b.settle(f, nil)
		return
	}
	f.exit.await(b.ctx)
	outlet, err := b.clearance(f)
	if err != nil {
		b.settle(f, err)
		return
	}
	b.under++
	m := envelope(f.row)
	for i, key := range f.row.Keys {
		if !f.has(i) {
			outlet.Publish(key, m, func(err error) { b.answers <- answer{f, i, err} })
		}
	}
}

// clearance says why a row cannot be published now. The lease is looked at for
// each row: a process that was paused for long must not go on where it was.
func (b *batch) clearance(f *flight) (broker.Outlet, error) {
	switch now := b.relay.now(); {
	case f.line != nil && f.line.stopped:
		return nil, errBehind
	case b.ctx.Err() != nil:
		return nil, errStopping
	case !b.lane.mayPublish(now):
		return nil, errLate
	case b.relay.gate.isShut():
		return nil, errBlocked
	default:
		return f.exit.admit(now)
	}
}

// landed takes one answer in.
func (b *batch) landed(a answer) {
	f := a.flight
	f.left--
	if a.err == nil {
		f.confirmed |= 1 << a.key
	} else {
		f.err = worse(f.err, a.err)
	}
	if f.left > 0 {
		return
	}
	b.under--
	f.exit.learn(f.err, b.relay.now())
	b.settle(f, f.err)
}

// settle gives a row its outcome and lets those behind it go, or go back.
func (b *batch) settle(f *flight, err error) {
	route := b.relay.cfg.route(f.row.Destination)
	if b.rules.leaves(f.row.Destination) {
		route.Unknown = LeaveForHuman
	}
	o := decide(route, f.row, f.confirmed, err)
	b.relay.tellOutcome(b.lane.number, f.row, o, err)
	b.out <- o
	l := f.line
	if l == nil {
		return
	}
	if o.State != store.Pending {
		b.advance(l)
		return
	}
	b.dissolve(l, errBehind)
}

// dissolve gives back what waits in a line.
func (b *batch) dissolve(l *line, err error) {
	l.stopped = true
	waiting := l.waiting
	l.waiting = nil
	for _, f := range waiting {
		b.settle(f, err)
	}
}

var (
	errBehind   = &unsentError{err: errorText("an earlier row of its ordering key comes first")}
	errStopping = &unsentError{err: errorText("the relay stops")}
	errLate     = &unsentError{err: errorText("the lease may be over")}
	errBlocked  = &unsentError{err: errorText("the broker accepts no publishes")}
)

// envelope is the row as a message.
func envelope(row *store.Row) *broker.Message {
	m := &broker.Message{
		Body: row.Payload, ID: row.ID, Type: row.Type, ContentType: row.ContentType, Timestamp: row.CreatedAt,
		Headers: make(map[string]any, len(row.Headers)+1),
	}
	for name, value := range row.Headers {
		m.Headers[name] = value
	}
	if row.Unknowns > 0 {
		m.Headers[broker.HeaderOutboxRepeat] = strconv.Itoa(row.Unknowns)
	}
	return m
}

// tellOutcome tells what a person may want to know of a row.
func (r *Relay) tellOutcome(lane int, row *store.Row, o store.Outcome, err error) {
	var kind RelayEventKind
	switch {
	case o.State == store.Failed:
		kind = RelayFailed
	case o.State == store.Publishing:
		kind = RelayLeft
	case o.Unknown:
		kind = RelayUnknown
	case o.Refused:
		kind = RelayRefused
	default:
		return
	}
	r.tell(RelayEvent{
		Kind: kind, ID: row.ID, Destination: row.Destination, Key: row.Keys[0], Type: row.Type,
		Class: o.Class, Lane: lane, Wait: o.Wait, Err: err,
	})
}

// report is what came of one claim.
type report struct {
	lane    *lane
	claimed int
	full    bool  // there may be more
	fenced  bool  // outcomes were not written
	err     error // of the claim
}

// work claims rows of a lane, publishes them and records what became of them.
// Publishing ends with ctx, recording with hard.
func (r *Relay) work(ctx, hard context.Context, l *lane, claim store.Claim, rules rules) report {
	var rows []store.Row
	err := r.callForWork(hard, func(ctx context.Context) (err error) {
		rows, err = r.cfg.Outbox.Claim(ctx, claim)
		return err
	})
	r.weighed(rows)
	r.books.claimed.Add(int64(len(rows)))
	if err != nil || len(rows) == 0 {
		return report{lane: l, err: err}
	}
	for i := range rows {
		if rows[i].Unknowns > 0 {
			r.books.repeats.Add(1)
		}
	}
	out := make(chan store.Outcome, len(rows))
	rec := &recorder{relay: r, claim: claim}
	var recording sync.WaitGroup
	recording.Go(func() { rec.run(hard, out) })
	b := &batch{relay: r, ctx: ctx, lane: l, rules: rules, out: out}
	b.publish(rows)
	close(out)
	recording.Wait()
	return report{lane: l, claimed: len(rows), full: len(rows) == claim.Limit, fenced: rec.fenced}
}
