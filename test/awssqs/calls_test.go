package awssqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
)

// counting counts the requests that reach the service, by operation and queue.
type counting struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct {
		QueueURL string `json:"QueueUrl"`
	}
	_ = json.Unmarshal(body, &asked) // a request without a queue is counted, too
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	c.calls[operation+" "+asked.QueueURL[strings.LastIndexByte(asked.QueueURL, '/')+1:]]++
	c.mu.Unlock()
	return http.DefaultClient.Do(r)
}

// of counts what was asked of the queue and its places since begin, without
// what the looks at held messages take.
func (c *counting) of(queue string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for call, n := range c.calls {
		operation, name, _ := strings.Cut(call, " ")
		looks := name == queue+holdSuffix && operation != "SendMessageBatch"
		if strings.HasPrefix(name, queue) && !looks {
			out[operation+strings.TrimPrefix(name, queue)] = n
		}
	}
	return out
}

func (c *counting) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = map[string]int{}
}

func outcomeOf(t *testing.T, d broker.Delivery, set broker.Settlement) error {
	t.Helper()
	outcome := make(chan error, 1)
	d.Settle(set, func(err error) { outcome <- err })
	select {
	case err := <-outcome:
		return err
	case <-time.After(callTakes):
		t.Fatal("a settlement has no outcome")
		return nil
	}
}

func settle(t *testing.T, d broker.Delivery, set broker.Settlement) {
	t.Helper()
	if err := outcomeOf(t, d, set); err != nil {
		t.Fatal(err)
	}
}

func attach(t *testing.T, b broker.Broker, sub broker.Subscription) broker.Session {
	t.Helper()
	session, err := b.Open(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(t.Context()) })
	return session
}

func consume(t *testing.T, session broker.Session, prefetch int) {
	t.Helper()
	if err := session.Consume(t.Context(), prefetch); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, session broker.Session) broker.Delivery {
	t.Helper()
	d, err := session.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openWith(t *testing.T, url string, change func(*awssqs.Config)) broker.Broker {
	t.Helper()
	conf := settings(url)
	if change != nil {
		change(&conf)
	}
	b, err := awssqs.Open(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func failed(queue string) *broker.Capture {
	return &broker.Capture{ID: "capture-1", Attempt: 1, Reason: broker.ReasonVerdict, Origin: broker.Origin{Queue: queue}}
}

// TestEachFateCostsTheCallsThatAreDocumented enumerates what one delivery asks
// of SQS. None is added for the count: it comes with the receive.
func TestEachFateCostsTheCallsThatAreDocumented(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	for _, c := range []struct {
		fate broker.Fate
		want map[string]int
	}{
		{broker.FateDone, map[string]int{"ReceiveMessage": 1, "DeleteMessageBatch": 1}},
		{broker.FateDiscard, map[string]int{"ReceiveMessage": 1, "DeleteMessageBatch": 1}},
		{broker.FateDelay, map[string]int{"ReceiveMessage": 1, "ChangeMessageVisibilityBatch": 1}},
		{broker.FatePark, map[string]int{"ReceiveMessage": 1, "SendMessageBatch" + parkedSuffix: 1, "DeleteMessageBatch": 1}},
		{broker.FateHold, map[string]int{"ReceiveMessage": 1, "SendMessageBatch" + holdSuffix: 1, "DeleteMessageBatch": 1}},
	} {
		t.Run(c.fate.String(), func(t *testing.T) {
			t.Parallel()
			count := &counting{calls: map[string]int{}}
			b := openWith(t, s.url, with(count))
			queue := s.newQueue(t)
			s.publish(t, queue, &broker.Message{Body: []byte("a")})
			session := attach(t, b, broker.Subscription{Queue: queue, Rungs: []time.Duration{time.Minute}, Hold: time.Hour})
			count.begin()
			consume(t, session, 1)
			d := receive(t, session)
			got := make(chan map[string]int, 1)
			set := broker.Settlement{Fate: c.fate, Capture: failed(queue)}
			if c.fate == broker.FateDelay {
				set.Delay = time.Minute
			}
			d.Settle(set, func(err error) {
				if err != nil {
					t.Error(err)
				}
				calls := count.of(queue)
				calls["ReceiveMessage"] = min(calls["ReceiveMessage"], 1) // the next may be under way
				got <- calls
			})
			if calls := <-got; !maps.Equal(calls, c.want) {
				t.Errorf("a delivery that is %v asks %v, not %v", c.fate, calls, c.want)
			}
		})
	}
}

func TestOneReceiveBringsTen(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	count := &counting{calls: map[string]int{}}
	b := openWith(t, s.url, with(count))
	queue := s.newQueue(t)
	for i := range 20 {
		s.publish(t, queue, &broker.Message{Body: []byte(fmt.Sprint(i))})
	}
	session := attach(t, b, broker.Subscription{Queue: queue})
	count.begin()
	consume(t, session, 20)
	for range 20 {
		receive(t, session)
	}
	if got := count.of(queue)["ReceiveMessage"]; got != 2 {
		t.Errorf("%d receives for 20 messages, not 2", got)
	}
}
