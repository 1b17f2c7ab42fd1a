package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

// The permissions of docs/permissions.md, for the queue ORDERS/billing and the
// default namespace.
var (
	mayPublish = []string{
		"$JS.API.CONSUMER.INFO.ORDERS.billing",
		"$JS.API.CONSUMER.MSG.NEXT.ORDERS.billing",
		"$JS.ACK.ORDERS.billing.>",
		"$JS.API.STREAM.INFO.holdfast-work",
		"$JS.API.STREAM.INFO.holdfast-parked",
		"$JS.API.CONSUMER.INFO.holdfast-work.ORDERS+billing",
		"$JS.API.CONSUMER.MSG.NEXT.holdfast-work.ORDERS+billing",
		"$JS.ACK.holdfast-work.ORDERS+billing.>",
		"holdfast.wait.ORDERS.billing.retry.*",
		"holdfast.wait.ORDERS.billing.hold.*",
		"holdfast.back.ORDERS.billing",
		"holdfast.parked.ORDERS.billing",
	}
	mayMake = []string{
		"$JS.API.STREAM.CREATE.holdfast-work",
		"$JS.API.STREAM.CREATE.holdfast-parked",
		"$JS.API.CONSUMER.CREATE.holdfast-work.ORDERS+billing.holdfast.back.ORDERS.billing",
	}
	mayOperate = []string{
		"$JS.API.CONSUMER.INFO.ORDERS.billing",
		"$JS.API.CONSUMER.INFO.holdfast-work.ORDERS+billing",
		"$JS.API.STREAM.INFO.ORDERS",
		"$JS.API.STREAM.INFO.holdfast-work",
		"$JS.API.STREAM.INFO.holdfast-parked",
		"$JS.API.STREAM.MSG.GET.ORDERS",
		"$JS.API.STREAM.MSG.GET.holdfast-work",
		"$JS.API.STREAM.MSG.GET.holdfast-parked",
		"$JS.API.STREAM.MSG.DELETE.holdfast-work",
		"$JS.API.STREAM.MSG.DELETE.holdfast-parked",
		"holdfast.back.ORDERS.billing",
	}
	mayHear = []string{"_INBOX.>"}

	advisory = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.billing"
)

// users makes a server of users with these permissions, by name, and an owner
// who may do everything, and returns the owner's place.
func users(t *testing.T, publish, subscribe map[string][]string) (*place, *server.Server) {
	t.Helper()
	s := runServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "owner", Password: password}}
		for name := range publish {
			o.Users = append(o.Users, &server.User{Username: name, Password: password, Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: publish[name]}, Subscribe: &server.SubjectPermission{Allow: subscribe[name]},
			}})
		}
	})
	return at(t, urlOf(s, "owner")), s
}

func as(s *server.Server, user string) func(*jetstream.Config) {
	// A request that is not refused at once would run out of the test's time.
	return func(c *jetstream.Config) { c.URL, c.CallTimeout = urlOf(s, user), 2*patience }
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == one })
}

// TestPermissions: with what the page names, all that a consumer does works,
// and what an operator does.
func TestPermissions(t *testing.T) {
	t.Parallel()
	p, s := users(t,
		map[string][]string{"maker": append(mayMake, mayPublish...), "user": mayPublish, "operator": mayOperate},
		map[string][]string{"maker": mayHear, "user": mayHear, "operator": mayHear})
	queue := p.queue()
	for _, user := range []string{"maker", "user"} {
		p.everyFate(p.open(as(s, user)), queue)
	}
	b := p.open(as(s, "operator"))
	moved, err := b.Sift(p.ctx(), queue+".hold", broker.SiftOptions{}, copyTo(queue))
	if err != nil || moved.Copied != 2 {
		t.Errorf("resume: %+v, %v", moved, err)
	}
	moved, err = b.Sift(p.ctx(), queue+".parked", broker.SiftOptions{Limit: 1}, copyTo(queue))
	if err != nil || moved.Copied != 1 {
		t.Errorf("replay: %+v, %v", moved, err)
	}
	moved, err = b.Sift(p.ctx(), queue+".parked", broker.SiftOptions{}, func(context.Context, *broker.Stored) (broker.Action, error) {
		return broker.Action{Verb: broker.VerbDrop}, nil
	})
	if err != nil || moved.Dropped != 1 {
		t.Errorf("discard: %+v, %v", moved, err)
	}
	if d, err := b.Depth(p.ctx(), queue); err != nil || d.Messages != 3 {
		t.Errorf("depth: %+v, %v", d, err)
	}
}

// everyFate lets a session do all that it can, and leaves one message held,
// and one parked.
func (p *place) everyFate(b *jetstream.Broker, queue string) {
	p.Helper()
	s := p.consuming(b, queue, 10)
	p.publish("done", "delayed", "held", "parked", "released", "stamped")
	list := p.receives(s, "done", "delayed", "held", "parked", "released", "stamped")
	p.mustSettle(list[0], done)
	p.mustSettle(list[1], delayed(list[1], rungs[0]))
	p.mustSettle(list[2], held(list[2]))
	p.mustSettle(list[3], parked(list[3]))
	p.mustSettle(list[4], broker.Settlement{Fate: broker.FateRelease})
	p.mustSettle(list[5], broker.Settlement{Fate: broker.FateRelease, Capture: capture(list[5])})
	for range 3 {
		p.mustSettle(p.receive(s), done)
	}
	p.must(s.Probe(p.ctx()))
	p.must(s.Close(p.ctx()))
}

func copyTo(queue string) func(context.Context, *broker.Stored) (broker.Action, error) {
	return func(context.Context, *broker.Stored) (broker.Action, error) {
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}}, nil
	}
}

// TestPermissionMissing takes each permission away alone: the session is
// refused before its first message, and the error names the subject.
func TestPermissionMissing(t *testing.T) {
	t.Parallel()
	publish, subscribe, missing := map[string][]string{}, map[string][]string{}, map[string]string{}
	lacking := func(subject string, pub, sub []string) {
		name := fmt.Sprint("lacking", len(missing))
		publish[name], subscribe[name] = pub, sub
		missing[name] = strings.NewReplacer(".>", "", ".*", "").Replace(subject)
	}
	all := append(mayMake, mayPublish...)
	for _, subject := range all {
		lacking(subject, without(all, subject), mayHear)
	}
	lacking("_INBOX", all, []string{"orders.>"})
	p, s := users(t, publish, subscribe)
	queue := p.queue()
	for name, subject := range missing {
		if strings.Contains(subject, ".CREATE.") {
			_ = p.js.DeleteStream(p.ctx(), workStream) // it is to be made
			_ = p.js.DeleteStream(p.ctx(), parkedStream)
		}
		p.deniedAtStart(p.open(as(s, name)), queue, subject)
	}
}

// deniedAtStart wants a refusal that does not wait for an answer to run out of
// time.
func (p *place) deniedAtStart(b *jetstream.Broker, queue, subject string) {
	p.Helper()
	soon, cancel := context.WithTimeout(context.Background(), patience/2)
	defer cancel()
	_, err := b.Open(soon, broker.Subscription{Queue: queue, Rungs: rungs, Hold: time.Minute})
	wantErr(p, err, broker.ErrPermission, subject)
	if strings.Contains(err.Error(), password) {
		p.Errorf("it shows the password: %v", err)
	}
	b.Close()
}

// TestPermissionForAdvisories: where MaxDeliver is set, a consumer must hear of
// it. That one session may not does not end the others of its connection.
func TestPermissionForAdvisories(t *testing.T) {
	t.Parallel()
	exceeded := append([]string{"$JS.API.STREAM.MSG.GET.ORDERS"}, mayPublish...)
	more := append(mayMake, mayPublish...)
	for _, subject := range append(mayMake, mayPublish...) {
		more = append(more, strings.ReplaceAll(subject, "billing", "other"))
	}
	p, s := users(t,
		map[string][]string{"deaf": more, "user": append(exceeded, mayMake...)},
		map[string][]string{"deaf": mayHear, "user": append([]string{advisory}, mayHear...)})
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy })
	p.consumer("ORDERS", "other")
	p.consumer("ORDERS", "billing", func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 10 })
	deaf := p.open(as(s, "deaf"))
	other := p.consuming(deaf, "ORDERS/other", 1)
	_, err := deaf.Open(p.ctx(), broker.Subscription{Queue: "ORDERS/billing"})
	wantErr(t, err, broker.ErrPermission, advisory)
	p.publish("a")
	p.receives(other, "a")
	p.receives(p.consuming(p.open(as(s, "user")), "ORDERS/billing", 1), "a")
}
