package outbox

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// ReaperStatus is what a reaper has seen and done since it was made.
type ReaperStatus struct {
	Scans      int64 `json:"scans"`       // that came to their end
	ScanErrors int64 `json:"scan_errors"` // that did not
	Failed     int64 `json:"failed"`      // rows
	LostRaces  int64 `json:"lost_races"`
	FlipErrors int64 `json:"flip_errors"`

	// Backlog is how many rows were Publishing in all at the last scan, with or
	// without a live lease; Stuck how many of them were older than WarnAfter
	// under a lease that is over, counted up to Batch, and Oldest when the
	// oldest of these was claimed, by the database's clock.
	Backlog int       `json:"backlog"`
	Stuck   int       `json:"stuck"`
	Oldest  time.Time `json:"oldest,omitzero"`

	// Relays is how many relays were alive when the reaper last had a reason
	// to look.
	Relays int `json:"relays"`

	// ScanAt is when the last scan began, ScanFor how long it took, Lag how
	// late it began, and Error why it failed, if it did.
	ScanAt   time.Time     `json:"scan_at,omitzero"`
	ScanFor  time.Duration `json:"scan_for"`
	Lag      time.Duration `json:"lag"`
	Error    string        `json:"error,omitempty"`
	Scanning bool          `json:"scanning"`
}

// Status returns what the reaper has seen and done.
func (r *Reaper) Status() ReaperStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Reaper) update(f func(*ReaperStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.status)
}

func (r *Reaper) began(at time.Time, lag time.Duration) {
	r.update(func(s *ReaperStatus) { s.ScanAt, s.Lag, s.Scanning = at, max(lag, 0), true })
}

// ended counts a scan. One that was cut short by the end of Run has not failed.
func (r *Reaper) ended(took time.Duration, err error, stopped bool) {
	event := ReaperEvent{Kind: ReaperScanned, Duration: took}
	r.update(func(s *ReaperStatus) {
		s.ScanFor, s.Scanning = took, false
		event.Backlog = s.Backlog
		switch {
		case err == nil:
			s.Scans, s.Error = s.Scans+1, ""
		case !stopped:
			s.ScanErrors, s.Error = s.ScanErrors+1, err.Error()
		}
	})
	switch {
	case err == nil:
		r.tell(event)
	case !stopped:
		r.tell(ReaperEvent{Kind: ReaperScanFailed, Duration: took, Err: err, Text: "the next scan comes in its time"})
	}
}

func (r *Reaper) flipped(kind ReaperEventKind) {
	r.update(func(s *ReaperStatus) {
		switch kind {
		case ReaperFailed:
			s.Failed++
		case ReaperLostRace:
			s.LostRaces++
		case ReaperFlipError:
			s.FlipErrors++
		}
	})
}

// found notes what is stuck after a scan's flips, oldest first.
func (r *Reaper) found(rows []store.Row, total int) {
	r.update(func(s *ReaperStatus) {
		s.Backlog, s.Stuck, s.Oldest = total, len(rows), time.Time{}
		if len(rows) > 0 {
			s.Oldest = rows[0].PublishingSince.UTC()
		}
	})
}

func (r *Reaper) sawRelays(n int) { r.update(func(s *ReaperStatus) { s.Relays = n }) }
