package doctor

import (
	"time"

	"github.com/holdfast-mq/holdfast/doctor/management"
)

type managementQueue = management.Queue

// still reports whether nothing was handed out of a queue, acknowledged in it or
// taken from it between the two looks. Without two looks nobody can tell.
func (v *vhost) still(f *Facts, q management.Queue) bool {
	before := v.before[q.Name]
	if before == nil || f.ratesUnknown() || f.RabbitMQ.TakenAt.Sub(f.Before.TakenAt) < standstill {
		return false
	}
	return q.Rates.Deliver == 0 && q.Rates.Ack == 0 && q.Ready >= before.Ready && before.Ready > 0 && q.Unacked == before.Unacked
}

// standstill is how far apart two looks must be: the broker itself counts every
// five seconds.
const standstill = 5 * time.Second

const second = time.Second

// slots are how many deliveries the consumers of a queue may have in hand, 0 for
// without bound.
func (f *Facts) slots(q management.Queue) (slots int64, channels []string) {
	for _, c := range f.RabbitMQ.Consumers {
		if c.VHost != q.VHost || c.Queue != q.Name {
			continue
		}
		if c.Prefetch == 0 {
			return 0, nil
		}
		slots += c.Prefetch
		channels = append(channels, c.Channel)
	}
	return slots, channels
}

// keeps reports whether a queue of somebody else's keeps dead letters for a
// person: nobody consumes it, and none of it goes on.
func (v *vhost) keeps(queue string) bool {
	q := v.byName[queue]
	_, goesOn := v.index.Queue(queue).DeadLetter()
	return v.dead[queue] && !v.own(queue) && !v.source(queue) && q.Consumers == 0 && !goesOn
}

// waits reports whether a queue is one in which messages wait to come back: it
// has no consumer by design, and dead-letters to a queue that has some.
func (v *vhost) waits(queue string) bool {
	for _, p := range v.paths {
		if p.Queue != queue || len(p.Hops) == 0 {
			continue
		}
		for _, next := range p.Hops[0].Reaches {
			if q := v.byName[next]; q != nil && next != queue && (q.Consumers > 0 || v.source(next)) {
				return true
			}
		}
	}
	return false
}

type permission = management.Permission
