package doctor

import (
	"fmt"
	"time"
)

var inboxTooShort = Check{
	ID: "HF110", Title: "inbox that forgets sooner than messages are parked", Needs: SourceStore, Runbook: "duplicate-delivery.md",
	Find: func(f *Facts) (found []Finding) {
		oldest, where := f.oldestParked()
		if where == "" {
			return nil
		}
		for _, i := range f.Store.Inboxes {
			if i.Count == 0 || i.Oldest >= oldest {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("inbox of %q", i.Consumer),
				Summary:  fmt.Sprintf("it remembers %s, and a parked message is %s old: replayed, it may be applied again", days(i.Oldest), days(oldest)),
				Evidence: []string{fmt.Sprintf("%d records, the oldest %s ago", i.Count, i.Oldest.Round(time.Second)), fmt.Sprintf("the oldest parked message is in %s", where)},
				Notice:   "an effect that is there twice after a replay",
				Remedy:   []string{"prune the inbox with a retention that is longer than anything is parked (inbox.Retention)", "look before you replay what is older"},
				Limits:   "whether that message is one of this consumer's; an inbox that is younger than the message has not forgotten anything, and looks the same",
			})
		}
		return found
	},
}

// oldestParked is the oldest message that is parked on any broker; where is
// empty without one whose age is known.
func (f *Facts) oldestParked() (oldest time.Duration, where string) {
	if f.Broker != nil {
		for i := range f.Broker.Survey.Sources {
			if s := &f.Broker.Survey.Sources[i]; s.Parked > 0 && s.ParkedOldest > oldest {
				oldest, where = s.ParkedOldest, "the parked place of "+sourceSubject(s)
			}
		}
	}
	if f.RabbitMQ == nil {
		return oldest, where
	}
	for _, v := range f.vhosts() {
		for _, q := range v.queues {
			if v.names.Role(q.Name) != RoleParked || q.Messages == 0 {
				continue
			}
			if since, known := f.waitingSince(q); known && f.Now.Sub(since) > oldest {
				oldest, where = f.Now.Sub(since), v.subject("queue", q.Name)
			}
		}
	}
	return oldest, where
}
