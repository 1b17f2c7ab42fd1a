package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// beatEvery is how often a relay beats. It bounds how late a death is seen.
func (d *dispatcher) beatEvery() time.Duration { return min(d.cfg.Lease/3, time.Second) }

// beat tells the others that this relay is there, learns which of its lanes it
// still has, and takes or gives up what makes its share.
func (d *dispatcher) beat(ctx context.Context) {
	start := d.now()
	var s store.Standing
	err := d.call(ctx, func(ctx context.Context) (err error) {
		s, err = d.cfg.Outbox.Beat(ctx, d.self)
		return err
	})
	now := d.now()
	d.nextBeat = now + d.beatEvery()
	if err != nil {
		d.nextBeat = now + d.patience.next(firstWait, d.beatEvery())
		return
	}
	d.patience.reset()
	d.roster.saw(s, now)
	d.renew(s, start, now)
	for _, other := range d.roster.differing(now) {
		d.tell(RelayEvent{Kind: RelayDiffers, Text: fmt.Sprintf("relay %s has the settings %s, and this one has %s: "+
			"give all relays of an outbox the same", other.Name, shorten(other.Settings), d.self.Settings)})
	}
	d.balance(ctx, s)
	d.forget(ctx, s, now)
}

// renew lengthens the leases that are still this relay's. A beat that came back
// too late proves nothing: another relay may be about to take the lease of one
// that it holds for dead, and what was read here does not show it. Such a lane
// is taken anew, which one of the two gets.
func (d *dispatcher) renew(s store.Standing, start, now time.Duration) {
	d.until = start + d.cfg.Lease/4*3
	lost, lapsed := 0, 0
	for _, l := range s.Leases {
		have := d.lanes[l.Lane]
		switch {
		case have != nil && (l.Relay != d.self.ID || l.Token != have.token):
			have.until.Store(0)
			delete(d.lanes, l.Lane)
			lost++
		case have == nil && l.Relay == d.self.ID: // it was taken, and the answer was lost
			d.lanes[l.Lane] = &lane{number: l.Lane, token: l.Token, lapsed: true}
		case have != nil && !have.lapsed && !have.mayPublish(now):
			have.lapsed = true
			lapsed++
		case have != nil && !have.lapsed:
			have.until.Store(int64(d.until))
		}
	}
	if lost > 0 {
		d.tell(RelayEvent{Kind: RelayLost, Count: lost})
	}
	if lapsed > 0 {
		d.tell(RelayEvent{Kind: RelayLapsed, Count: lapsed})
	}
}

// balance brings this relay to its fair share of the lanes.
func (d *dispatcher) balance(ctx context.Context, s store.Standing) {
	alive := d.roster.alive(d.now())
	share := (store.Lanes + alive - 1) / alive
	keep := 0
	for _, l := range d.lanes {
		l.excess = false
		keep++
	}
	for _, busy := range []bool{false, true} { // those that nobody works on go first
		for _, l := range d.lanes {
			if keep > share && l.busy == busy {
				l.excess = true
				keep--
			}
		}
	}
	d.yieldExcess(ctx)
	d.take(ctx, s, share-keep)
	d.show(alive)
}

func (d *dispatcher) yieldExcess(ctx context.Context) {
	var leases []store.Lease
	for _, l := range d.lanes {
		if l.excess && !l.busy {
			leases = append(leases, l.lease(d.self.ID))
		}
	}
	d.yield(ctx, leases, false)
}

// yield gives leases up. They are gone for this relay whatever the answer is.
func (d *dispatcher) yield(ctx context.Context, leases []store.Lease, gone bool) {
	for _, l := range leases {
		if have := d.lanes[l.Lane]; have != nil {
			have.until.Store(0)
			delete(d.lanes, l.Lane)
		}
	}
	if len(leases) == 0 && !gone {
		return
	}
	_ = d.call(ctx, func(ctx context.Context) error { // the next beat shows what came of it
		return d.cfg.Outbox.Yield(ctx, d.self.ID, leases, gone)
	})
}

// take takes what has lapsed and, up to n, lanes of nobody and of the dead.
func (d *dispatcher) take(ctx context.Context, s store.Standing, n int) {
	seen := map[int]store.Lease{}
	var wanted []store.Lease
	for _, l := range d.lanes {
		if l.lapsed && !l.busy && !l.excess {
			wanted = append(wanted, l.lease(d.self.ID))
		}
	}
	now := d.now()
	for _, i := range rand.Perm(len(s.Leases)) { // relays that start together want different ones
		if l := s.Leases[i]; n > 0 && d.lanes[l.Lane] == nil && (l.Relay == "" || d.roster.dead(l.Relay, now)) {
			wanted = append(wanted, l)
			n--
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, l := range wanted {
		seen[l.Lane] = l
	}
	var taken []store.Lease
	err := d.call(ctx, func(ctx context.Context) (err error) {
		taken, err = d.cfg.Outbox.Take(ctx, d.self.ID, wanted)
		return err
	})
	if err != nil {
		return // the next beat shows what came of it
	}
	d.took(taken, seen)
}

func (d *dispatcher) took(taken []store.Lease, seen map[int]store.Lease) {
	fresh, over := 0, 0
	for _, l := range taken {
		have := &lane{number: l.Lane, token: l.Token}
		have.until.Store(int64(d.until))
		d.lanes[l.Lane] = have
		switch was := seen[l.Lane].Relay; was {
		case "", d.self.ID:
			fresh++
		default:
			over++
		}
	}
	d.nextLook = 0
	if fresh > 0 {
		d.tell(RelayEvent{Kind: RelayTook, Count: fresh})
	}
	if over > 0 {
		d.tell(RelayEvent{Kind: RelayTookOver, Count: over})
	}
}

func (d *dispatcher) forget(ctx context.Context, s store.Standing, now time.Duration) {
	if ids := d.roster.forgettable(s, now); len(ids) > 0 {
		d.roster.forget(ids)
		_ = d.call(ctx, func(ctx context.Context) error { return d.cfg.Outbox.Forget(ctx, ids) })
	}
}
