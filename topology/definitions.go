package topology

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// definitions are those parts of RabbitMQ's definitions that are read; users,
// permissions and policies are not.
type definitions struct {
	Exchanges []struct {
		VHost *string `json:"vhost"`
		Exchange
	} `json:"exchanges"`
	Queues []struct {
		VHost *string `json:"vhost"`
		Queue
	} `json:"queues"`
	Bindings []struct {
		VHost       *string        `json:"vhost"`
		Source      string         `json:"source"`
		Destination string         `json:"destination"`
		Kind        string         `json:"destination_type"`
		Key         string         `json:"routing_key"`
		Arguments   map[string]any `json:"arguments"`
	} `json:"bindings"`
}

// ParseDefinitions reads one virtual host of a file of definitions, as rabbitmqctl
// export_definitions, the management API and load_definitions have it. What names
// no virtual host, in a file of only one, counts as of the one asked for. Policies
// are not applied. Errors name the line.
func ParseDefinitions(text []byte, vhost string) (t Topology, err error) {
	var d definitions
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&d); err != nil {
		return Topology{}, fmt.Errorf("topology: definitions, line %d: %w", lineAt(text, offsetOf(err, dec)), err)
	}
	here := func(name *string) bool { return name == nil || *name == vhost }
	for _, e := range d.Exchanges {
		if here(e.VHost) {
			e.Alternate, _ = e.Arguments[ArgAlternate].(string)
			t.Exchanges = append(t.Exchanges, e.Exchange)
		}
	}
	for _, q := range d.Queues {
		if here(q.VHost) {
			q.Type = q.kind()
			t.Queues = append(t.Queues, q.Queue)
		}
	}
	for _, b := range d.Bindings {
		if here(b.VHost) {
			t.Bindings = append(t.Bindings, Binding{Source: b.Source, Destination: b.Destination, ToExchange: b.Kind == "exchange", Key: b.Key, Arguments: b.Arguments})
		}
	}
	return t.sorted(), nil
}
