package awssqs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// window is how many messages are taken before the first is asked about. SQS
// gives them in no order, so they are sorted by their age first.
const window = 100

// gather takes a window of messages, the oldest first. In a queue of ours it
// takes more than a limit asks for, to find the oldest; where a look has a
// price it does not.
func (s *sift) gather(ctx context.Context) (list []*letter, err error) {
	n := min(window, s.there-s.sum.Seen)
	if !s.broker.names.isOurs(s.queue) {
		n = min(n, s.most-s.sum.Seen)
	}
	quiet := time.Now()
	for len(list) < n {
		got, err := s.broker.client.receive(ctx, asked{url: s.url, most: min(maxBatch, n-len(list)), hidden: s.broker.conf.Lease, wait: lookWait})
		if err != nil {
			return nil, err
		}
		list = append(list, s.take(got)...)
		if len(got) > 0 {
			quiet = time.Now()
		} else if over, err := s.over(ctx, time.Since(quiet)); over || err != nil {
			return sorted(list), err
		}
	}
	return sorted(list), nil
}

// take takes in hand what was received, and returns what is not known yet:
// standard queues may deliver twice.
func (s *sift) take(got []types.Message) (list []*letter) {
	for _, raw := range got {
		l := open(raw, s.broker.conf.KeepEnvelopes)
		s.hand.take(l)
		if !s.seen[l.id] {
			s.seen[l.id] = true
			list = append(list, l)
		}
	}
	return list
}

func sorted(list []*letter) []*letter {
	slices.SortStableFunc(list, func(a, b *letter) int {
		return cmp.Or(a.sent.Compare(b.sent), cmp.Compare(len(a.sequence), len(b.sequence)), cmp.Compare(a.sequence, b.sequence))
	})
	return list
}

// over decides whether there is nothing more to come. What others have in hand
// in a queue of ours, as the returner of held messages does, is waited for: two
// leases and a moment.
func (s *sift) over(ctx context.Context, quiet time.Duration) (bool, error) {
	a, err := s.broker.client.attributes(ctx, s.url)
	if err != nil {
		return true, err
	}
	left := waiting(a)
	if s.broker.names.isOurs(s.queue) {
		left += hiddenOf(a) - s.hand.size()
	}
	return left <= 0 || quiet > 2*s.broker.conf.Lease+2*lookWait, nil
}
