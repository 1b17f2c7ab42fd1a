package app

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/telemetry"
	"github.com/holdfast-mq/holdfast/triage"
)

const (
	// headEvery is how often the head of one queue is taken and given back. It
	// is for a moment not where an operator's verb would find it.
	headEvery = time.Minute

	// headsTime is what the heads of one look may take together; the queues that
	// were not looked at for longest come first.
	headsTime = 10 * time.Second
)

// heads knows how old the oldest messages of parked queues are, of the queues
// where the broker does not tell and a look costs nothing.
type heads struct {
	sifter broker.Sifter
	vhost  string

	mu   sync.Mutex
	seen map[string]head
}

// head is what was seen of one queue; at is zero when it said nothing of its age.
type head struct {
	at     time.Time
	looked time.Time
}

// look looks at the heads whose turn it is.
func (h *heads) look(ctx context.Context, f *doctor.Facts) {
	if h.sifter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, headsTime)
	defer cancel()
	for _, queue := range h.due(f, time.Now()) {
		at, err := h.oldest(ctx, queue)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			at = time.Time{} // not known: the look after the next will try again
		}
		h.mu.Lock()
		h.seen[queue] = head{at, time.Now()}
		h.mu.Unlock()
	}
}

// due are the queues to look at, and forgets those that are gone.
func (h *heads) due(f *doctor.Facts, now time.Time) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.seen
	h.seen = map[string]head{}
	var due []string
	for i := range f.RabbitMQ.Queues {
		q := &f.RabbitMQ.Queues[i]
		if q.VHost != h.vhost || !isParked(f, q) || q.Messages == 0 || !q.HeadAt.IsZero() || !free(q) {
			continue
		}
		h.seen[q.Name] = before[q.Name]
		if now.Sub(before[q.Name].looked) >= headEvery {
			due = append(due, q.Name)
		}
	}
	slices.SortStableFunc(due, func(a, b string) int { return cmp.Compare(before[a].looked.UnixNano(), before[b].looked.UnixNano()) })
	return due
}

func isParked(f *doctor.Facts, q *management.Queue) bool {
	return f.Names.Role(q.Name) == doctor.RoleParked
}

// free reports whether a message can be looked at without being counted towards
// a limit: a classic queue does not count, and a quorum queue without a limit
// counts towards none. Where the version does not tell the limit, it is not free.
func free(q *management.Queue) bool {
	return q.Type == "classic" || q.Type == "quorum" && q.DeliveryLimit == -1
}

func (h *heads) oldest(ctx context.Context, queue string) (at time.Time, err error) {
	_, err = h.sifter.Sift(ctx, queue, broker.SiftOptions{Limit: 1}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		at = triage.FailedAt(m)
		return broker.Action{Verb: broker.VerbKeep}, nil
	})
	return at, err
}

// ages are those of all parked queues of which one is known. An empty one has
// none and is told as such, so that an alert ends.
func (h *heads) ages(f *doctor.Facts, now time.Time) []telemetry.ParkedLook {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []telemetry.ParkedLook
	for i := range f.RabbitMQ.Queues {
		q := &f.RabbitMQ.Queues[i]
		if !isParked(f, q) {
			continue
		}
		at := q.HeadAt
		if at.IsZero() && q.VHost == h.vhost {
			at = h.seen[q.Name].at
		}
		look := telemetry.ParkedLook{VHost: q.VHost, Queue: q.Name}
		switch {
		case q.Messages == 0:
		case at.IsZero():
			continue
		default:
			look.Oldest = max(now.Sub(at), 0)
		}
		out = append(out, look)
	}
	return out
}
