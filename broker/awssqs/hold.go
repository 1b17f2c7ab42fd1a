package awssqs

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// lookWait is how long a look at the held messages waits: a receive that does
// not wait asks only some of the servers that a queue is spread over.
const lookWait = time.Second

// headStart is how long after a held message can be seen the next look comes.
const headStart = 200 * time.Millisecond

// returner brings held messages back: it takes what waits beside the source,
// hides what is not due yet, copies what is due to the source and deletes it.
// SQS cannot show the head of a queue, so each look takes all that is visible.
//
// A message is hidden for two leases at most, so that an operator's sift, which
// waits for as long, gets each of them before its time.
type returner struct {
	session *session
	url     string
	lease   time.Duration
	plan    plan
}

func newReturner(s *session, url string) *returner {
	return &returner{session: s, url: url, lease: s.broker.conf.Lease, plan: newPlan()}
}

func (r *returner) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	idle := time.Now()
	for {
		select {
		case <-timer.C:
			r.plan.pass(time.Now())
			r.look()
			idle = time.Now().Add(r.lease)
		case <-r.plan.changed:
		case <-r.session.done:
			return
		}
		timer.Reset(time.Until(r.plan.first(idle)))
	}
}

// look goes through all that is visible. An error, which a session that cannot
// receive either ends by, is as if nothing had been there.
func (r *returner) look() {
	for r.session.Err() == nil {
		// To its end, also when the session ends: what a request that is cut off
		// has done is not known, and a copy would be made twice.
		list, err := r.session.client.receive(context.Background(), r.asking())
		if err != nil || len(list) == 0 {
			return
		}
		until := time.Now().Add(sure(r.lease))
		due, later := r.sort(list)
		r.postpone(later)
		r.bringBack(due, until)
	}
}

func (r *returner) asking() asked {
	return asked{url: r.url, most: maxBatch, hidden: r.lease, wait: lookWait}
}

// held is a message in its hold.
type held struct {
	*letter
	capture *broker.Capture
	due     time.Time
}

// sort tells what is due, or will be before its lease is half over, from the
// rest, and waits for the former.
func (r *returner) sort(list []types.Message) (due, later []held) {
	var last time.Time
	for _, raw := range list {
		h := held{letter: open(raw, true)}
		h.capture, _ = h.letter.capture("")
		h.due = h.sent.Add(r.session.sub.Hold)
		if wait := time.Until(h.due); wait > r.lease/2 {
			later = append(later, h)
			continue
		}
		due = append(due, h)
		if h.due.After(last) {
			last = h.due
		}
	}
	select {
	case <-time.After(time.Until(last)):
	case <-r.session.done:
	}
	if r.session.Err() != nil {
		r.hide(due, func(held) time.Duration { return 0 })
		due = nil
	}
	return due, later
}

// postpone hides what is not due, and plans a look for when it can be seen
// again. The look comes a moment later, so that an operator's sift, which waits
// for it, comes first.
func (r *returner) postpone(list []held) {
	r.hide(list, func(h held) time.Duration {
		wait := time.Duration(seconds(min(time.Until(h.due), 2*r.lease))) * time.Second
		r.plan.add(time.Now().Add(wait + headStart))
		return wait
	})
}

func (r *returner) hide(list []held, wait func(held) time.Duration) {
	if len(list) == 0 {
		return
	}
	hidings := make([]hiding, len(list))
	for i, h := range list {
		hidings[i] = hiding{h.receipt, seconds(wait(h))}
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
	defer cancel()
	_ = r.session.client.hide(ctx, r.url, hidings) // else the lease ends by itself
}

// bringBack copies held messages to the source and then deletes them. What was
// not copied stays, with those of its group behind it, until its lease ends.
func (r *returner) bringBack(list []held, until time.Time) {
	for _, h := range list {
		if time.Now().After(until) {
			return // another consumer may have the rest
		}
		o, err := h.again()
		if err == nil {
			err = r.send(o)
		}
		if err != nil {
			r.failed(err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
		_ = r.session.client.remove(ctx, r.url, []string{h.receipt}) // else it comes back twice, marked by its capture
		cancel()
		id := ""
		if h.capture != nil {
			id = h.capture.ID
		}
		r.session.notify(broker.NoticeReturned, id)
	}
}

// again is the copy for the source: as it was held.
func (h held) again() (*outgoing, error) {
	p := *h.packed
	p.Folded = nil
	o, err := h.copyWith(&p, "")
	if err == nil {
		o.dedup = string(copyReturn) + "-" + h.id
	}
	return o, err
}

func (r *returner) send(o *outgoing) error {
	return r.session.client.store(context.Background(), r.session.source.url, []*outgoing{o})[0]
}

func (r *returner) failed(err error) {
	if r.session.Err() == nil {
		r.session.warn("a held message could not be returned and stays: " + err.Error())
	}
}
