package awssqs

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
)

// denying refuses operations as SQS does for want of a grant, and lets the
// others through.
type denying map[string]bool

func (d denying) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !d[operation] {
		return http.DefaultClient.Do(r)
	}
	return answer(r, http.StatusForbidden, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized to perform: sqs:`+operation+`"}`), nil
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}
}

func with(transport aws.HTTPClient) func(*awssqs.Config) {
	return func(c *awssqs.Config) { c.AWS = &aws.Config{HTTPClient: transport} }
}

func kumoService(t *testing.T) *service {
	t.Helper()
	return newService(t, kumoURL(t), false)
}

// notices collects what a session tells.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(notice broker.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, notice.Text)
}

func (n *notices) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.list, "\n"), text)
}

func TestAQueueThatMayNotBeMadeIsNamedWithItsCommand(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	b := openWith(t, s.url, with(denying{"CreateQueue": true}))
	_, err := b.Open(t.Context(), broker.Subscription{Queue: queue})
	if !errors.Is(err, broker.ErrPermission) || !broker.Permanent(err) {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{"aws sqs create-queue --queue-name " + queue + parkedSuffix, "MessageRetentionPeriod=1209600", "sqs:CreateQueue"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s: %v", want, err)
		}
	}
	s.recreateQueue(t, queue+parkedSuffix)
	s.recreateQueue(t, queue+holdSuffix)
	attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour})
}

func TestAQueueThatMayNotBeLookedAtIsConsumedWithAWarning(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	var told notices
	b := openWith(t, s.url, with(denying{"GetQueueAttributes": true}))
	session := attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour, Notify: told.add})
	if !told.has("sqs:GetQueueAttributes") {
		t.Errorf("told %q", told.list)
	}
	if session.Capabilities().NativeLimit != 0 {
		t.Error("a limit is declared that nobody has seen")
	}
	if err := session.Probe(t.Context()); err != nil {
		t.Errorf("the probe: %v", err)
	}
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	consume(t, session, 1)
	settle(t, receive(t, session), broker.Settlement{Fate: broker.FatePark, Capture: failed(queue)})
}

func TestASendThatIsNotAllowedIsFoundAtTheStart(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	b := openWith(t, s.url, with(denying{"SendMessageBatch": true}))
	if _, err := b.Open(t.Context(), broker.Subscription{Queue: queue}); !errors.Is(err, broker.ErrPermission) || !strings.Contains(err.Error(), "sqs:SendMessage") {
		t.Errorf("the error is %v", err)
	}
}

func TestAReceiveThatIsNotAllowedEndsTheSessionForGood(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	session := attach(t, openWith(t, s.url, with(denying{"ReceiveMessage": true})), broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, session, 1)
	if _, err := session.Receive(t.Context()); !errors.Is(err, broker.ErrPermission) || !broker.Permanent(err) {
		t.Errorf("the error is %v", err)
	}
}

// failing answers a deletion as SQS does when it did not happen.
type failing struct{}

func (failing) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DeleteMessageBatch") {
		return http.DefaultClient.Do(r)
	}
	return answer(r, http.StatusOK, `{"Failed":[{"Id":"0","SenderFault":false,"Code":"InternalError","Message":"not now"}]}`), nil
}

func TestADeletionThatFailsIsNotCalledDone(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	session := attach(t, openWith(t, s.url, with(failing{})), broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, session, 1)
	if err := outcomeOf(t, receive(t, session), broker.Settlement{Fate: broker.FateDone}); !errors.Is(err, broker.ErrUnknown) {
		t.Errorf("the outcome is %v", err)
	}
	<-session.Done()
	again := attach(t, openWith(t, s.url, nil), broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, again, 1)
	settle(t, receive(t, again), broker.Settlement{Fate: broker.FateDone})
}
