package inbox

import (
	"context"
	"sync"
)

// reservation is a message that this process is handling. It does not name the
// store: two handles on one database would then not see each other, and that
// two databases have the same consumer and id at the same moment costs a wait.
type reservation struct{ consumer, id string }

var reserved = struct {
	sync.Mutex
	until map[reservation]chan struct{}
}{until: map[reservation]chan struct{}{}}

// reserve waits until nobody in this process handles the message, or ctx ends.
func reserve(ctx context.Context, r reservation) (release func(), err error) {
	for {
		over, mine := tryReserve(r)
		if mine {
			return func() { unreserve(r, over) }, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryReserve returns the channel that is closed when the reservation ends, and
// whether it is the caller's.
func tryReserve(r reservation) (over chan struct{}, mine bool) {
	reserved.Lock()
	defer reserved.Unlock()
	if over, ok := reserved.until[r]; ok {
		return over, false
	}
	over = make(chan struct{})
	reserved.until[r] = over
	return over, true
}

func unreserve(r reservation, over chan struct{}) {
	reserved.Lock()
	delete(reserved.until, r)
	reserved.Unlock()
	close(over)
}
