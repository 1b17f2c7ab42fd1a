package doctor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

const day = 24 * time.Hour

// wellElsewhere is a broker other than RabbitMQ in which nothing is wrong: its
// first source is as patient as can be, of its second one hardly anything can be
// known.
func wellElsewhere() *Facts {
	return &Facts{Now: now, Broker: &BrokerFacts{Product: "a broker", Survey: broker.Survey{Product: "a broker", Sources: []broker.SourceSurvey{
		{
			Queue: "ORDERS/billing", Ready: 3, Unsettled: 2, Consumers: -1, Oldest: time.Minute, Retention: 7 * day, Expires: 31 * day,
			NativeLimit: 100, Dead: "orders-dead", Parked: 2, ParkedOldest: time.Hour, ParkedRetention: 14 * day,
		},
		{Queue: "MAIL/send", Consumers: -1},
	}}}}
}

// elsewhere are the faults of a broker other than RabbitMQ, each in one that is
// well otherwise.
var elsewhere = map[string]func(*broker.Survey, *broker.SourceSurvey){
	"HF120": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Err = fmt.Errorf("%w: gone", broker.ErrMissing) },
	"HF121": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Stranded = []string{"17", "18"} },
	"HF122": func(_ *broker.Survey, s *broker.SourceSurvey) { s.DeadErr = broker.ErrUnrouted },
	"HF123": func(_ *broker.Survey, s *broker.SourceSurvey) {
		s.DeadBounds = []string{"it keeps messages for 4 days"}
	},
	"HF124": func(_ *broker.Survey, s *broker.SourceSurvey) { s.NativeLimit = usualAttempts },
	"HF125": func(_ *broker.Survey, s *broker.SourceSurvey) { s.ParkedErr = broker.ErrMismatch },
	"HF126": func(v *broker.Survey, s *broker.SourceSurvey) {
		s.ParkedBounds = []string{"stream holdfast-parked drops messages after 1h"}
		v.Sources[1].ParkedBounds = s.ParkedBounds // one place of both, and so one finding
	},
	"HF127": func(_ *broker.Survey, s *broker.SourceSurvey) { s.ParkedOldest = s.ParkedRetention - time.Hour },
	"HF128": func(_ *broker.Survey, s *broker.SourceSurvey) { s.ParkedOldest = 2 * day },
	"HF129": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Stopped, s.Consumers = "paused for 1h more", 0 },
	"HF130": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Consumers = 0 },
	"HF131": func(_ *broker.Survey, s *broker.SourceSurvey) {
		s.Risks = []string{"the stream has 1000 of 1000 messages"}
	},
	"HF132": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Oldest = 6 * day },
	"HF133": func(_ *broker.Survey, s *broker.SourceSurvey) { s.Expires = time.Hour },
	"HF134": func(v *broker.Survey, _ *broker.SourceSurvey) {
		v.Trouble = []string{"stream ORDERS: it has no leader"}
	},
}

func TestABrokerElsewhereThatIsWellGivesNoFinding(t *testing.T) {
	r := Examine(wellElsewhere())
	if len(r.Findings) > 0 || r.Ran != len(brokerChecks) {
		t.Errorf("%d of %d checks ran: %+v", r.Ran, len(brokerChecks), r.Findings)
	}
}

func TestEveryFaultElsewhereIsFoundOnceAndByOneCheckAlone(t *testing.T) {
	for _, c := range brokerChecks {
		t.Run(c.ID, func(t *testing.T) {
			seed := elsewhere[c.ID]
			if seed == nil {
				t.Fatal("no fault shows that it finds anything")
			}
			f := wellElsewhere()
			survey := &f.Broker.Survey
			seed(survey, &survey.Sources[0])
			found := Examine(f).Findings
			if len(found) != 1 || found[0].ID != c.ID {
				t.Fatalf("want one of %s: %+v", c.ID, found)
			}
			whole(t, found[0])
		})
	}
}

func TestASourceThatMayNotBeLookedAtIsAWarning(t *testing.T) {
	f := wellElsewhere()
	f.Broker.Survey.Sources[0].Err = fmt.Errorf("%w: no", broker.ErrPermission)
	if found := Examine(f).Findings; len(found) != 1 || found[0].Severity != Warning {
		t.Errorf("found %+v", found)
	}
}

func TestALimitIsHeldAgainstTheLadderOfTheService(t *testing.T) {
	f := wellElsewhere()
	f.Broker.Survey.Sources[0].NativeLimit = 3
	f.Service = &ServiceFacts{Rungs: []time.Duration{time.Second}}
	for _, found := range Run(f, brokerChecks).Findings {
		t.Errorf("two attempts are within three deliveries: %+v", found)
	}
}

func TestWhatTheBrokerCannotTellIsBlindAndNoFinding(t *testing.T) {
	f := wellElsewhere()
	f.Blind = []string{"something else"}
	f.Broker.Survey.Unknown = []string{"how much it may store"}
	f.Broker.Survey.Sources[1].Unknown = []string{"how old the oldest is"}
	r := Examine(f)
	want := []string{"something else", "how much it may store", `queue "MAIL/send": how old the oldest is`}
	if len(r.Findings) > 0 || !slices.Equal(r.Blind, want) {
		t.Errorf("found %+v, blind to %q", r.Findings, r.Blind)
	}
}

func TestAnInboxIsHeldAgainstWhatIsParkedOnAnyBroker(t *testing.T) {
	f := wellElsewhere()
	f.Broker.Survey.Sources[0].ParkedOldest = 20 * time.Hour
	f.Store = &StoreFacts{Inboxes: []store.InboxStatus{{Consumer: "billing", Count: 10, Oldest: time.Hour}}}
	found := Examine(f).Findings
	if len(found) != 1 || found[0].ID != inboxTooShort.ID {
		t.Errorf("found %+v", found)
	}
}
