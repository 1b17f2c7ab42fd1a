package jetstream

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// sent makes the ack subject of a message that is delivered for the first time.
func sent(seq int) string {
	return fmt.Sprintf("$JS.ACK.ORDERS.billing.1.%d.%d.1796075683088724397.0", seq, seq)
}

// begin begins a session on f without asking a server whether it may.
func begin(t *testing.T, f *fake) *session {
	t.Helper()
	b, err := Open(t.Context(), Config{InProcess: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	c, err := b.connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src := found{source: source{"ORDERS", "billing"}, ackWait: time.Hour}
	s, err := newSession(t.Context(), b, c, broker.Subscription{Queue: "ORDERS/billing"}, src)
	if err != nil {
		t.Fatal(err)
	}
	b.add(s)
	return s
}

// TestLateDeliveriesGoBack: what the server sends before it knows that nobody
// listens any more is not left to the ack wait.
func TestLateDeliveriesGoBack(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*session){
		"the session ends":     func(s *session) { s.end(fmt.Errorf("changed: %w", broker.ErrDetached)) },
		"the broker is closed": func(s *session) { s.broker.Close() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			back := make(chan string, 10)
			f := &fake{
				published: func(_ *fake, m *nats.Msg) {
					if string(m.Data) == string(ackNak) {
						back <- m.Subject
					}
				},
				unsubscribed: func(f *fake, subject string) {
					if strings.HasSuffix(subject, ".source.*") {
						f.deliver(strings.TrimSuffix(subject, "*")+"1", sent(7), "", "late")
					}
				},
			}
			end(begin(t, f))
			select {
			case subject := <-back:
				if subject != sent(7) {
					t.Errorf("%s goes back", subject)
				}
			case <-time.After(20 * time.Second):
				t.Error("it does not go back")
			}
		})
	}
}

// TestAckThatArrivedIsNoFailure: the connection is lost while a batch is being
// acknowledged. To say of a message that it was released, whose ack the server
// has read, would leave it without a fate: it never comes again.
func TestAckThatArrivedIsNoFailure(t *testing.T) {
	t.Parallel()
	const n, arrive = 5_000, 100
	long := strings.Repeat("x", 4<<10) // so that the network cannot hold them all when nobody reads
	var (
		mu   sync.Mutex
		read = map[string]bool{}
	)
	s := begin(t, &fake{published: func(f *fake, m *nats.Msg) {
		if string(m.Data) != string(ackDone) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if read[m.Subject] = true; len(read) == arrive {
			f.conn.Close()
		}
	}})
	a := s.acks[flowSource]
	errs := make(map[string]error, n)
	var finished sync.WaitGroup
	finished.Add(n)
	for i := range n {
		d := &delivery{session: s, raw: &nats.Msg{Reply: long + sent(i)}, state: stateHanded}
		s.handed++
		a.waiting = append(a.waiting, settled{d, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			errs[d.raw.Reply] = err
			finished.Done()
		}})
	}
	a.flush()
	finished.Wait()
	mu.Lock()
	defer mu.Unlock()
	for reply := range read {
		if errs[reply] != nil {
			t.Fatalf("%d acks arrived, and of one it is said: %v", len(read), errs[reply])
		}
	}
	if errs[long+sent(n-1)] == nil {
		t.Error("an ack that was not sent is said to be")
	}
}
