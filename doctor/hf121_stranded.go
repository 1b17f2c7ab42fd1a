package doctor

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

var strandedMessages = Check{
	ID: "HF121", Title: "messages that no consumer will ever get", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if len(s.Stranded) == 0 {
			return nil
		}
		evidence := []string{"their numbers: " + strings.Join(cut(s.Stranded), ", ")}
		if s.NativeLimit > 0 {
			evidence = append(evidence, fmt.Sprintf("the broker stops after %d deliveries", s.NativeLimit))
		}
		remedy := []string{"raise or remove the limit, so that no more follow: it does not bring these back"}
		if stream, consumer, ok := strings.Cut(s.Queue, "/"); ok {
			remedy = append(remedy,
				fmt.Sprintf("nats consumer edit %s %s --max-deliver=-1", shell(stream), shell(consumer)),
				fmt.Sprintf("nats stream get %s %s", shell(stream), shell(s.Stranded[0])),
			)
		}
		remedy = append(remedy, "publish each of them again, and only then delete the old one")
		return &Finding{
			Severity: Error, Summary: fmt.Sprintf("%s or more are stored and will not be delivered again", count(int64(len(s.Stranded)), "message")),
			Evidence: evidence,
			Notice:   "what these messages were to do never happens; they are in no dead-letter queue and were never parked",
			Remedy:   remedy,
			Limits:   "how far their handling had come",
		}
	}),
}
