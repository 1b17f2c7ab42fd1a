package outbox

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// lane is one that this relay has a lease on. All but until belongs to the
// dispatcher.
type lane struct {
	number int
	token  int64

	// until is when publishing must end, by the relay's own clock. It is
	// before anybody else can take the lease for one of a dead relay.
	until atomic.Int64

	lapsed bool // until has passed before it was renewed: to be taken again
	queued bool // it waits for its turn
	busy   bool // somebody works on it
	excess bool // to be given up when nobody does
}

func (l *lane) mayPublish(now time.Duration) bool { return int64(now) < l.until.Load() }

// free reports whether a batch of the lane may be started.
func (l *lane) free() bool { return !l.busy && !l.lapsed && !l.excess }

func (l *lane) lease(relay string) store.Lease {
	return store.Lease{Lane: l.number, Relay: relay, Token: l.token}
}
