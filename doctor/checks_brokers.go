package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// brokerChecks look at a broker that is not RabbitMQ, as its driver surveyed it.
var brokerChecks = []Check{
	sourceUnseen, strandedMessages, deadLettersLost, deadLettersRemoved, limitBeforeBudget, parkingImpossible, parkedRemoved,
	parkedEnding, parkedForgotten, nothingHandedOut, nobodyTakes, unreadRemoved, unreadEnding, sourceExpires, brokerTrouble,
}

// perSource is a check of each source that could be looked at. find returns
// nothing, or what is wrong with the source; the subject is filled in.
func perSource(find func(*Facts, *broker.SourceSurvey) *Finding) func(*Facts) []Finding {
	return func(f *Facts) (found []Finding) {
		for i := range f.Broker.Survey.Sources {
			s := &f.Broker.Survey.Sources[i]
			if s.Err != nil {
				continue
			}
			if one := find(f, s); one != nil {
				one.Subject = sourceSubject(s)
				found = append(found, *one)
			}
		}
		return found
	}
}

func sourceSubject(s *broker.SourceSurvey) string { return fmt.Sprintf("queue %q", s.Queue) }

// list is what to look at first.
func list(s *broker.SourceSurvey) string { return "holdfast parked " + shell(s.Queue) }

// unknown is what the broker could not be asked.
func (b *BrokerFacts) unknown() (all []string) {
	all = append(all, b.Survey.Unknown...)
	for i := range b.Survey.Sources {
		for _, text := range b.Survey.Sources[i].Unknown {
			all = append(all, sourceSubject(&b.Survey.Sources[i])+": "+text)
		}
	}
	return all
}
