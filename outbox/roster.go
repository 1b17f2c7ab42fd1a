package outbox

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// forgetAfter is for how long a dead relay with other settings is remembered:
// until then, what it would have left for a human is left.
const forgetAfter = time.Hour

// roster judges which other relays are alive: those whose beat has changed
// within the length of a lease on this relay's own clock.
type roster struct {
	self  string
	mine  settings
	known map[string]*peer
	told  map[string]bool // whose other settings were told of
}

type peer struct {
	relay    store.Relay
	settings settings
	since    time.Duration // when this beat was seen first
}

func newRoster(self string, mine settings) *roster {
	return &roster{self: self, mine: mine, known: map[string]*peer{}, told: map[string]bool{}}
}

// saw takes in a standing that was read by now. A relay that is new counts as
// alive: it was perhaps started a moment ago.
func (r *roster) saw(s store.Standing, now time.Duration) {
	there := map[string]bool{}
	for _, relay := range s.Relays {
		there[relay.ID] = true
		p := r.known[relay.ID]
		if p == nil || p.relay.Beat != relay.Beat {
			p = &peer{since: now}
			r.known[relay.ID] = p
		}
		p.relay, p.settings = relay, parseSettings(relay.Settings)
	}
	// Whoever holds a lease and is not there gets as long as everybody else.
	for _, l := range s.Leases {
		if l.Relay != "" && !there[l.Relay] {
			there[l.Relay] = true
			if r.known[l.Relay] == nil {
				r.known[l.Relay] = &peer{relay: store.Relay{ID: l.Relay}, settings: r.mine, since: now}
			}
		}
	}
	for id := range r.known {
		if !there[id] {
			delete(r.known, id)
		}
	}
}

// dead reports whether the leases of a relay may be taken. It goes by the
// longer of two leases that differ: who has the longer one beats more seldom.
func (r *roster) dead(id string, now time.Duration) bool {
	p := r.known[id]
	return id != r.self && p != nil && now-p.since >= max(p.settings.Lease, r.mine.Lease)
}

// alive counts the relays that are, this one included.
func (r *roster) alive(now time.Duration) int {
	n := 1
	for id := range r.known {
		if id != r.self && !r.dead(id, now) {
			n++
		}
	}
	return n
}

// forgettable are dead relays without a lease.
func (r *roster) forgettable(s store.Standing, now time.Duration) (ids []string) {
	holds := map[string]bool{}
	for _, l := range s.Leases {
		holds[l.Relay] = true
	}
	for id, p := range r.known {
		if holds[id] || !r.dead(id, now) {
			continue
		}
		if p.settings.String() == r.mine.String() || now-p.since >= forgetAfter {
			ids = append(ids, id)
		}
	}
	return ids
}

// forget drops what is known of relays that are being removed. One that was only
// paused begins its beats anew when it comes back: held against the beat that it
// died with, the same number would be no sign of life, and it would be removed
// again and again.
func (r *roster) forget(ids []string) {
	for _, id := range ids {
		delete(r.known, id)
	}
}

// rules are this relay's, together with those of all others that are
// remembered.
func (r *roster) rules() rules {
	all := rules{[]settings{r.mine}}
	for id, p := range r.known {
		if id != r.self && p.settings.String() != r.mine.String() {
			all.all = append(all.all, p.settings)
		}
	}
	return all
}

// differing are the relays at work with other settings that were not told of
// yet.
func (r *roster) differing(now time.Duration) (others []store.Relay) {
	for id, p := range r.known {
		if id == r.self || r.told[id] || r.dead(id, now) || p.settings.String() == r.mine.String() {
			continue
		}
		r.told[id] = true
		others = append(others, p.relay)
	}
	for id := range r.told {
		if r.known[id] == nil {
			delete(r.told, id)
		}
	}
	return others
}
