package holdfast

import (
	"errors"
	"fmt"
	"time"
)

// The defaults and bounds of a [Brake].
const (
	DefaultBrakeWindow = time.Minute
	DefaultBrakeMin    = 20

	minBrakeWindow = time.Second
	maxBrakeWindow = time.Hour
	maxBrakeMin    = 1_000_000
	minBrakeProbe  = time.Second
	maxBrakeProbe  = 24 * time.Hour
)

// Brake stops a consumer that would park most of what it gets for one cause,
// before it has emptied the queue into parking: the messages stay where they are,
// in their order, until somebody has mended the cause. The zero value is off.
//
// It counts the messages whose fate is final (done, parked or discarded) in this
// consumer only: each process has a brake of its own, and a restart opens it. How
// failures are grouped is [Fingerprint].
type Brake struct {
	// Share is the part of the messages in a window that one fingerprint must
	// exceed: above 0 and below 1. 0 is no brake.
	Share float64

	// Window is over how long it counts: 1 s to 1 h. 0 means one minute.
	Window time.Duration

	// Min is how many messages of that fingerprint there must be at least: 1 to
	// 1,000,000. 0 means 20. The last of them trips the brake and is not parked.
	Min int

	// Probe is how often a braked consumer lets one message in: 1 s to 24 h. Its
	// success releases the brake; its failure has the fate that the policy gives
	// it, so that one message at most is parked for each Probe. 0 lets none in:
	// only [Consumer.ReleaseBrake] releases the brake.
	Probe time.Duration
}

func (b Brake) on() bool { return b != Brake{} }

func (b Brake) withDefaults() Brake {
	if b.on() {
		b.Window = or(b.Window, DefaultBrakeWindow)
		b.Min = or(b.Min, DefaultBrakeMin)
	}
	return b
}

func (b Brake) validate() error {
	if !b.on() {
		return nil
	}
	var errs []error
	bad := func(ok bool, field, bound string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("consumer: Brake.%s must be %s, not %v", field, bound, value))
		}
	}
	bad(0 < b.Share && b.Share < 1, "Share", "above 0 and below 1", b.Share)
	bad(minBrakeWindow <= b.Window && b.Window <= maxBrakeWindow, "Window", fmt.Sprintf("%v to %v", minBrakeWindow, maxBrakeWindow), b.Window)
	bad(1 <= b.Min && b.Min <= maxBrakeMin, "Min", fmt.Sprintf("1 to %d", maxBrakeMin), b.Min)
	bad(b.Probe == 0 || minBrakeProbe <= b.Probe && b.Probe <= maxBrakeProbe, "Probe", fmt.Sprintf("0 or %v to %v", minBrakeProbe, maxBrakeProbe), b.Probe)
	return errors.Join(errs...)
}

const (
	// windowParts is how finely a window slides.
	windowParts = 12

	// maxFingerprints bounds what one part of a window remembers. One that
	// comes later counts as a message only: when so many differ, none is most
	// of them.
	maxFingerprints = 64
)

// brakeWindow counts the final fates of the last Brake.Window. It is pure: the
// time comes in.
type brakeWindow struct {
	cfg   Brake
	parts [windowParts]windowPart
}

type windowPart struct {
	number int64 // of the part of all time that it counts
	all    int
	parked map[string]int // by fingerprint
}

// add counts one message, which would be parked for fingerprint, or for none. It
// reports whether that is one too many.
func (w *brakeWindow) add(now time.Time, fingerprint string) (trips bool) {
	number := now.UnixNano() / max(int64(w.cfg.Window)/windowParts, 1)
	p := &w.parts[uint64(number)%windowParts]
	if p.number != number {
		*p = windowPart{number: number}
	}
	p.all++
	if fingerprint == "" {
		return false
	}
	if _, known := p.parked[fingerprint]; known || len(p.parked) < maxFingerprints {
		if p.parked == nil {
			p.parked = map[string]int{}
		}
		p.parked[fingerprint]++
	}
	return w.exceeded(number, fingerprint)
}

func (w *brakeWindow) exceeded(number int64, fingerprint string) bool {
	all, same := 0, 0
	for i := range w.parts {
		if p := &w.parts[i]; 0 <= number-p.number && number-p.number < windowParts {
			all += p.all
			same += p.parked[fingerprint]
		}
	}
	return same >= w.cfg.Min && float64(same) > w.cfg.Share*float64(all)
}
