// Package bounds holds the bounds of a policy that tests of this module lower,
// so that they run the production code in milliseconds.
package bounds

import (
	"sync/atomic"
	"time"
)

var minHold atomic.Int64

func init() { minHold.Store(int64(time.Second)) }

// MinHold is the shortest hold that a policy may ask for.
func MinHold() time.Duration { return time.Duration(minHold.Load()) }

// AllowShortHolds lowers the bound to a millisecond, for the whole process. It
// is for tests.
func AllowShortHolds() { minHold.Store(int64(time.Millisecond)) }
