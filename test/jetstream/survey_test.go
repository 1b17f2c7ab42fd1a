package jetstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/doctor"
)

// survey asks for one queue.
func (p *place) survey(b broker.Surveyor, queue string) (broker.Survey, broker.SourceSurvey) {
	p.Helper()
	v, err := b.Survey(p.ctx(), []string{queue})
	p.must(err)
	if len(v.Sources) != 1 || v.Sources[0].Queue != queue || !strings.HasPrefix(v.Product, "NATS JetStream 2.") {
		p.Fatalf("the survey is %+v", v)
	}
	return v, v.Sources[0]
}

// findings are what the doctor makes of a survey.
func findings(v broker.Survey) (ids []string) {
	f := &doctor.Facts{Now: time.Now(), Broker: &doctor.BrokerFacts{Product: v.Product, Survey: v}}
	for _, found := range doctor.Examine(f).Findings {
		ids = append(ids, found.ID)
	}
	return ids
}

func (p *place) wantFindings(v broker.Survey, ids ...string) {
	p.Helper()
	if found := findings(v); !slices.Equal(found, ids) {
		p.Errorf("the doctor finds %q, want %q, in %+v", found, ids, v)
	}
}

// TestSurvey: a consumer at work that has parked one and holds another gives
// numbers and no finding.
func TestSurvey(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	w := p.run(b, holdfast.ConsumerConfig{
		Queue: queue, Policy: holdfast.Policy{Hold: time.Hour},
		Handler: func(_ context.Context, m *holdfast.Message) error {
			if string(m.Body) == "held" {
				return holdfast.Hold(errors.New("later"))
			}
			return holdfast.Park(errors.New("never"))
		},
	})
	p.publish("parked", "held")
	w.wantEvents(holdfast.EventParked, 1)
	w.wantEvents(holdfast.EventHeld, 1)
	v, s := p.survey(b, queue)
	if s.Err != nil || s.Parked != 1 || s.ParkedOldest <= 0 || s.Consumers != -1 || s.Ready != 0 || len(s.Unknown)+len(v.Unknown) > 0 {
		t.Errorf("the survey is %+v", v)
	}
	p.wantFindings(v)
}

// TestSurveyBefore: before Holdfast has consumed a queue its places are
// missing, which is no fault; that nobody consumes it is.
func TestSurveyBefore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	v, s := p.survey(b, queue)
	if s.Err != nil || s.Consumers != 0 || len(s.Unknown) > 0 {
		t.Errorf("the survey is %+v", v)
	}
	p.wantFindings(v)
	p.publish("a", "b")
	v, s = p.survey(b, queue)
	if s.Ready != 2 || s.Oldest <= 0 {
		t.Errorf("the survey is %+v", s)
	}
	p.wantFindings(v, "HF130")
	if _, err := p.js.Stream(p.ctx(), parkedStream); !errors.Is(err, natsjs.ErrStreamNotFound) {
		t.Errorf("a survey made a stream: %v", err)
	}
}

func TestSurveyOfWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.queue()
	v, err := p.open().Survey(p.ctx(), []string{"ORDERS/billing", "ORDERS/mail", "nonsense"})
	p.must(err)
	for i, class := range []error{nil, broker.ErrMissing, broker.ErrConfig} {
		if !errors.Is(v.Sources[i].Err, class) {
			t.Errorf("%s: %v", v.Sources[i].Queue, v.Sources[i].Err)
		}
	}
	p.wantFindings(v, "HF120", "HF120")
}

// TestSurveyOfStranded: the owner lowers MaxDeliver below what messages have
// had. JetStream never delivers them again, and sends no advisory.
func TestSurveyOfStranded(t *testing.T) {
	t.Parallel()
	for name, retention := range map[string]natsjs.RetentionPolicy{"work queue": natsjs.WorkQueuePolicy, "limits": natsjs.LimitsPolicy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = retention })
			p.consumer("ORDERS", "billing")
			p.publish("fine", "first", "second")
			c, err := p.js.Consumer(p.ctx(), "ORDERS", "billing")
			p.must(err)
			m, err := c.Next()
			p.must(err)
			p.must(m.DoubleAck(p.ctx()))
			for range 3 {
				batch, err := c.Fetch(2)
				p.must(err)
				for m := range batch.Messages() {
					p.must(m.Nak())
				}
			}
			p.consumer("ORDERS", "billing", func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 2 })
			if _, err := c.Next(natsjs.FetchMaxWait(quiet)); err == nil {
				t.Fatal("they are delivered again")
			}
			v, s := p.survey(p.open(), "ORDERS/billing")
			want := []string{"2", "3"}
			if retention == natsjs.LimitsPolicy {
				want = want[:1] // the other may have been acknowledged, for all that the server tells
			}
			if !slices.Equal(s.Stranded, want) || s.NativeLimit != 2 || (len(s.Unknown) > 0) != (retention == natsjs.LimitsPolicy) {
				t.Errorf("the survey is %+v", s)
			}
			p.wantFindings(v, "HF121", "HF124")
			p.consumer("ORDERS", "billing")
			if _, err := c.Next(natsjs.FetchMaxWait(quiet)); err == nil {
				t.Error("without the limit they are delivered again, and the doctor says that they are not")
			}
		})
	}
}

// TestSurveyOfPlacesThatDrop: somebody has set our streams up otherwise while
// consumers run.
func TestSurveyOfPlacesThatDrop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	p.session(b, broker.Subscription{Queue: queue})
	parked, work := p.streamInfo(parkedStream).Config, p.streamInfo(workStream).Config
	edit := func(cfg natsjs.StreamConfig, change func(*natsjs.StreamConfig)) {
		change(&cfg)
		_, err := p.js.UpdateStream(p.ctx(), cfg)
		p.must(err)
	}
	edit(parked, func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour })
	edit(work, func(c *natsjs.StreamConfig) { c.MaxMsgs, c.Discard = 1000, natsjs.DiscardOld })
	v, s := p.survey(b, queue)
	if len(s.ParkedBounds) != 2 || s.ParkedRetention != time.Hour || s.ParkedErr != nil {
		t.Errorf("the survey is %+v", s)
	}
	p.wantFindings(v, "HF126")

	edit(work, func(*natsjs.StreamConfig) {})
	edit(parked, func(c *natsjs.StreamConfig) { c.Subjects = []string{"elsewhere.>"} })
	v, s = p.survey(b, queue)
	if !errors.Is(s.ParkedErr, broker.ErrMismatch) || len(s.ParkedBounds) > 0 {
		t.Errorf("the survey is %+v", s)
	}
	p.wantFindings(v, "HF125")
}

// TestSurveyOfAFullStream: what drops its oldest messages drops those that
// nobody has had, or refuses new ones.
func TestSurveyOfAFullStream(t *testing.T) {
	t.Parallel()
	for name, discard := range map[string]natsjs.DiscardPolicy{"drops": natsjs.DiscardOld, "refuses": natsjs.DiscardNew} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.MaxMsgs, c.Discard = 10, discard })
			p.consumer("ORDERS", "billing", func(c *natsjs.ConsumerConfig) { c.InactiveThreshold = time.Hour })
			b := p.open()
			p.publish("a", "b", "c")
			v, s := p.survey(b, "ORDERS/billing")
			if len(s.Risks) > 0 || s.Expires != time.Hour {
				t.Errorf("the survey is %+v", s)
			}
			p.wantFindings(v, "HF130", "HF133")
			p.publish("d", "e", "f", "g", "h", "i")
			v, s = p.survey(b, "ORDERS/billing")
			if len(s.Risks) != 1 || !strings.Contains(s.Risks[0], name) || !strings.Contains(s.Risks[0], "9 of 10 messages") {
				t.Errorf("the survey is %+v", s)
			}
			p.wantFindings(v, "HF130", "HF131", "HF133")
		})
	}
}

func TestSurveyOfAPause(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	_, err := p.js.PauseConsumer(p.ctx(), "ORDERS", "billing", time.Now().Add(time.Hour))
	p.must(err)
	p.publish("waits")
	v, s := p.survey(p.open(), queue)
	if !strings.HasPrefix(s.Stopped, "paused by its owner for ") {
		t.Errorf("the survey is %+v", s)
	}
	p.wantFindings(v, "HF129")
}

// TestSurveyAsAnOperator: what these credentials may not ask is unknown, and
// the rest is there.
func TestSurveyAsAnOperator(t *testing.T) {
	t.Parallel()
	p, s := users(t, map[string][]string{"operator": mayOperate, "service": mayPublish}, map[string][]string{"operator": mayHear, "service": mayHear})
	queue := p.queue()
	p.session(p.open(via(urlOf(s, "owner"))), broker.Subscription{Queue: queue})
	p.publish("one")
	v, seen := p.survey(p.open(as(s, "operator")), queue)
	if seen.Err != nil || len(seen.Unknown) > 0 || seen.Ready != 1 || len(v.Unknown) != 1 || !strings.Contains(v.Unknown[0], "$JS.API.INFO") {
		t.Errorf("an operator sees %+v", v)
	}
	v, seen = p.survey(p.open(as(s, "service")), queue)
	if seen.Err != nil || seen.Ready != 1 || len(seen.Unknown) != 1 {
		t.Errorf("a service sees %+v", v)
	}
	p.wantFindings(v, "HF130")
}

func TestSurveyWithoutAServer(t *testing.T) {
	t.Parallel()
	b, err := jetstream.Open(t.Context(), jetstream.Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Survey(t.Context(), []string{"ORDERS/billing"}); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("the error is %v", err)
	}
}
