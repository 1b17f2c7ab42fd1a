package triage

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/typed"
)

// Death is one line of RabbitMQ's own dead-letter record (x-death): the broker
// moved the message out of Queue, Count times, the last time at Time.
type Death struct {
	Queue    string    `json:"queue"`
	Reason   string    `json:"reason"`
	Exchange string    `json:"exchange"`
	Keys     []string  `json:"keys,omitempty"`
	Count    int64     `json:"count"`
	Time     time.Time `json:"time,omitzero"`
}

// Deaths reads the broker's dead-letter record, latest first, as the broker
// keeps it. What does not read as a record is left out: on a message that was
// forged or damaged it is a courtesy and no base for a decision.
func Deaths(m *broker.Stored) []Death {
	list, _ := typed.Plain(m.Message.Headers["x-death"]).([]any)
	var deaths []Death
	for _, entry := range list {
		table, ok := typed.Plain(entry).(map[string]any)
		if !ok {
			continue
		}
		d := Death{
			Queue:    textOf(table["queue"]),
			Reason:   textOf(table["reason"]),
			Exchange: textOf(table["exchange"]),
		}
		d.Count, _ = integerOf(table["count"])
		d.Time, _ = table["time"].(time.Time)
		d.Time = d.Time.UTC()
		keys, _ := typed.Plain(table["routing-keys"]).([]any)
		for _, k := range keys {
			d.Keys = append(d.Keys, textOf(k))
		}
		deaths = append(deaths, d)
	}
	return deaths
}
