package gcppubsub

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
)

// An old count on a copy would be taken for a new one by a client that reads
// the attribute.
func TestCopies_never_carry_what_told_of_one_delivery(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a"), Headers: map[string]any{
		"googclient_deliveryattempt": "4", "CloudPubSubDeadLetterSourceDeliveryCount": "9", "own": "kept",
	}})
	must(t, settle(t, at.receive(), at.stamped(broker.FatePark, 1)))
	m := at.parked()
	for name := range m.Message.Headers {
		if strings.HasPrefix(name, "googclient") || strings.HasPrefix(name, "CloudPubSub") || strings.HasPrefix(name, "holdfast-") {
			t.Errorf("%s was published again", name)
		}
	}
	if m.Message.Headers["own"] != "kept" || m.DeadLettered != "" {
		t.Errorf("%+v", m)
	}
}

// What Pub/Sub moved by itself has no capture, and says where it comes from.
func TestSift_shows_what_the_broker_dead_lettered(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	s.send(t, at.queue+"-parked", "", &broker.Message{Body: []byte("a"), Headers: map[string]any{
		"CloudPubSubDeadLetterSourceSubscription": "orders", "CloudPubSubDeadLetterSourceDeliveryCount": "5",
	}})
	if m := at.parked(); m.DeadLettered == "" || m.Message.Origin.Queue != "orders" || m.Capture != nil {
		t.Errorf("%+v of %+v", m, m.Message)
	}
}

// The rest of a key waits while its first message is between two attempts, and
// its copies keep the key.
func TestOrdering_keeps_the_key_together(t *testing.T) {
	t.Parallel()
	for _, mode := range []driver.Mode{driver.ModePull, driver.ModeStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := newStation(t, kind{mode: mode, ordering: true, policy: true})
			at := s.sit(t, s.newQueue(t), nil)
			for _, body := range []string{"o0", "o1", "o2"} {
				s.send(t, at.queue, "key", &broker.Message{Body: []byte(body)})
			}
			first := at.receive()
			must(t, settle(t, first, at.stamped(broker.FateDelay, 2)))
			for _, want := range []string{"o0", "o1", "o2"} {
				d := at.receive()
				if got := string(d.Message().Body); got != want {
					t.Errorf("%q came, not %q", got, want)
				}
				must(t, settle(t, d, at.stamped(broker.FatePark, 2)))
			}
			at.keeps("key", 3)
		})
	}
}

// keeps checks the ordering key of all that is parked.
func (s *seat) keeps(key string, n int) {
	s.Helper()
	c, cancel := bounded()
	defer cancel()
	answer, err := s.subs.Pull(c, &pubsubpb.PullRequest{Subscription: subName(s.queue + "-parked"), MaxMessages: 10})
	must(s.T, err)
	for _, m := range answer.GetReceivedMessages() {
		if m.GetMessage().GetOrderingKey() != key {
			s.Errorf("a copy has the key %q", m.GetMessage().GetOrderingKey())
		}
	}
	if len(answer.GetReceivedMessages()) != n {
		s.Errorf("%d are parked, not %d", len(answer.GetReceivedMessages()), n)
	}
}

// Delayed deliveries stay outstanding for the stream that brought them, and
// must not stop the others.
func TestStreaming_goes_on_while_a_prefetch_of_messages_is_delayed(t *testing.T) {
	t.Parallel()
	s := newStation(t, kind{mode: driver.ModeStreaming, policy: true})
	at := s.sit(t, s.newQueue(t), nil)
	long := at.stamped(broker.FateDelay, 2)
	long.Delay = 20 * time.Minute
	for range 25 { // more than the prefetch twice over
		s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
		must(t, settle(t, at.receive(), long))
	}
	s.publish(t, at.queue, &broker.Message{Body: []byte("b")})
	if d := at.receive(); string(d.Message().Body) != "b" {
		t.Errorf("%q came", d.Message().Body)
	}
}
