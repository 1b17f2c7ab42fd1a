package topology

import (
	"bytes"
	"strings"
	"testing"
)

const shop = `{"version": 1, "service": "shop",
 "declares": {"exchanges": [{"name": "shop", "type": "topic", "durable": true}]},
 "publishes": [{"exchange": "shop", "key": "order.placed"}]}`

func TestParse(t *testing.T) {
	m, err := Parse([]byte(shop))
	if err != nil || m.Service != "shop" || len(m.Publishes) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		`{"version": 1, "service": "x",` + "\n" + `"declared": {}}`:                               "declared",
		`{"version": 1,` + "\n\n" + `"service": 7}`:                                               "line 3",
		`{"version": 2, "service": "x"}`:                                                          "version must be 1, not 2",
		`{"version": 1}`:                                                                          "service must be named",
		`{"version": 1, "service": "x"} {}`:                                                       "more than one",
		`{"version": 1, "service": "x", "declares": {"queues": [{}]}}`:                            "no name",
		`{"version": 1, "service": "x", "declares": {"bindings": [{"source": "s", "key": "k"}]}}`: "no destination",
		``: "line 1",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestEncodeIsTheSameForTheSameManifest(t *testing.T) {
	a := Manifest{Version: 1, Service: "s", Declares: Topology{Queues: []Queue{{Name: "b"}, {Name: "a"}}}}
	b := Manifest{Version: 1, Service: "s", Declares: Topology{Queues: []Queue{{Name: "a"}, {Name: "b"}}}}
	one, _ := a.Encode()
	two, _ := b.Encode()
	if !bytes.Equal(one, two) {
		t.Errorf("%s\n%s", one, two)
	}
	if back, err := Parse(one); err != nil || len(back.Declares.Queues) != 2 {
		t.Errorf("it does not come back: %+v, %v", back, err)
	}
}

func TestOf(t *testing.T) {
	part := system().Of("orders")
	if len(part.Queues) != 1 || len(part.Bindings) != 2 || len(part.Exchanges) != 2 {
		t.Errorf("%+v", part)
	}
}

func TestCheck(t *testing.T) {
	billing := func(key string) Manifest {
		return Manifest{Version: 1, Service: "billing", Declares: Topology{
			Exchanges: []Exchange{{Name: "shop", Type: "topic", Durable: true}},
			Queues:    []Queue{{Name: "orders", Type: "quorum", Durable: true}},
			Bindings:  []Binding{{Source: "shop", Destination: "orders", Key: key}},
		}, Consumes: []Consumption{{Queue: "orders"}}}
	}
	producer, _ := Parse([]byte(shop))
	if faults := Check([]Manifest{producer, billing("order.*")}); len(faults) != 0 {
		t.Errorf("manifests that agree: %+v", faults)
	}
	elsewhere := billing("order.*")
	elsewhere.VHost = "other"
	differs := billing("order.*")
	differs.Declares.Exchanges[0].Type = "direct"
	idle, gone, ended := billing("order.*"), billing("order.*"), billing("order.*")
	idle.Consumes = nil
	gone.Consumes = append(gone.Consumes, Consumption{Queue: "refunds"})
	ended.Declares.Queues[0].Arguments = map[string]any{ArgDeadLetterExchange: "dlx"}
	odd := billing("order.*")
	odd.Declares.Exchanges[0].Arguments = map[string]any{}
	odd.Declares.Queues[0].Type = ""
	odd.Declares.Queues[0].Arguments = map[string]any{ArgQueueType: "quorum"}
	knows := func(keys ...string) Manifest {
		m := billing("order.#")
		m.Consumes[0].Keys = keys
		return m
	}
	standard, foreign := billing("order.*"), billing("order.*")
	standard.Declares.Bindings = append(standard.Declares.Bindings, Binding{Source: "amq.topic", Destination: "orders", Key: "mail.#"})
	standard.Publishes = []Publication{{Exchange: "amq.topic", Key: "mail.sent"}, {Exchange: "", Key: "orders"}}
	foreign.Declares.Bindings = append(foreign.Declares.Bindings, Binding{Source: "theirs", Destination: "orders", Key: "#"})
	direct := billing("order.*")
	direct.Declares.Queues[0].Arguments = map[string]any{ArgDeadLetterExchange: "", ArgDeadLetterKey: "orders.dlq"}
	direct.Declares.Queues = append(direct.Declares.Queues, Queue{Name: "orders.dlq", Type: "classic", Durable: true})
	for name, c := range map[string]struct {
		manifests []Manifest
		want      []FaultKind
	}{
		"dead letters by a queue's name":  {[]Manifest{producer, direct}, nil},
		"the same said otherwise":         {[]Manifest{producer, billing("order.*"), odd}, nil},
		"an exchange that always is":      {[]Manifest{producer, standard}, nil},
		"an exchange that nobody has":     {[]Manifest{producer, foreign}, []FaultKind{Undeclared}},
		"keys that the handler knows":     {[]Manifest{producer, knows("order.placed")}, nil},
		"a key that it does not know":     {[]Manifest{producer, knows("refund.#")}, []FaultKind{Unhandled, Unfed}},
		"a key that is not published":     {[]Manifest{producer, knows("order.placed", "order.paid")}, []FaultKind{Unfed}},
		"known, bound, and not published": {[]Manifest{knows("order.placed")}, []FaultKind{Unpublished}},
		"another key":                     {[]Manifest{producer, billing("refund.*")}, []FaultKind{Unpublished, Unbound}},
		"another virtual host":            {[]Manifest{producer, elsewhere}, []FaultKind{Unbound, Unpublished}},
		"another type":                    {[]Manifest{producer, differs}, []FaultKind{Conflict}},
		"nobody consumes":                 {[]Manifest{producer, idle}, []FaultKind{Unconsumed}},
		"nobody declares":                 {[]Manifest{producer, gone}, []FaultKind{Undeclared}},
		"dead letters go nowhere":         {[]Manifest{producer, ended}, []FaultKind{DeadEnd}},
	} {
		var got []FaultKind
		for _, f := range Check(c.manifests) {
			got = append(got, f.Kind)
			if f.Subject == "" || f.Summary == "" || f.Remedy == "" {
				t.Errorf("%s: something is missing: %+v", name, f)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	from, to := *system(), *system()
	to.Queues = append([]Queue{{Name: "new", Type: "quorum"}}, to.Queues[1:]...)
	to.Queues[1] = Queue{Name: "holdfast.unrouted", Type: "classic", Arguments: map[string]any{ArgMaxLength: 5.0}}
	to.Bindings = to.Bindings[1:]
	var got []string
	for _, c := range Diff(from, to) {
		got = append(got, c.What+" "+c.Kind+" "+c.Name+" "+strings.Join(c.Details, "; "))
	}
	want := []string{
		`changed queue holdfast.unrouted type: "quorum" → "classic"; x-max-length: none → 5`,
		"added queue new ", "removed queue orders ", `removed binding "shop" to queue "orders" with "order.#" `,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(Diff(from, from)) != 0 {
		t.Error("a topology differs from itself")
	}
}

func TestGraph(t *testing.T) {
	for format, want := range map[GraphFormat][]string{
		Mermaid: {"flowchart LR", `x_shop -->|"order.#35;"| q_orders`, `q_keyed -.->|"rejected: at-most-once"| q_dlq`, "black hole"},
		DOT:     {"digraph topology", `x_shop -> q_orders [label="order.#", style=solid]`, "at-most-once", "confirmed"},
	} {
		var b strings.Builder
		if err := Graph(&b, *system(), RulesOf("4.3.6"), format); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s lacks %q:\n%s", format, text, b.String())
			}
		}
	}
	if Graph(&strings.Builder{}, *system(), Rules{}, "svg") == nil {
		t.Error("any format is taken")
	}
}

func TestJoinHasEachThingOnce(t *testing.T) {
	producer, _ := Parse([]byte(shop))
	whole := Join([]Manifest{producer, producer}).Without(func(name string) bool { return strings.HasPrefix(name, "amq.") })
	if len(whole.Exchanges) != 1 || len(whole.Queues)+len(whole.Bindings) != 0 {
		t.Errorf("%+v", whole)
	}
}

func TestWithoutLeavesNoBindingBehind(t *testing.T) {
	rest := system().Without(func(name string) bool { return strings.HasPrefix(name, "holdfast") })
	if len(rest.Exchanges) != 3 || len(rest.Queues) != 8 || len(rest.Bindings) != 3 {
		t.Errorf("%+v", rest)
	}
}

func TestParseDefinitions(t *testing.T) {
	const file = `{"users": [{"name": "a", "password_hash": "x"}],
 "exchanges": [{"name": "shop", "vhost": "/", "type": "topic", "durable": true, "auto_delete": false, "internal": false, "arguments": {"alternate-exchange": "rest"}},
  {"name": "other", "vhost": "else", "type": "fanout", "durable": true}],
 "queues": [{"name": "orders", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {"x-queue-type": "quorum"}}],
 "bindings": [{"source": "shop", "vhost": "/", "destination": "orders", "destination_type": "queue", "routing_key": "order.#", "arguments": {}},
  {"source": "shop", "vhost": "/", "destination": "amq.topic", "destination_type": "exchange", "routing_key": "#"}]}`
	got, err := ParseDefinitions([]byte(file), "/")
	if err != nil || len(got.Exchanges) != 1 || len(got.Queues) != 1 || len(got.Bindings) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Exchanges[0].Alternate != "rest" || got.Queues[0].Type != "quorum" || !got.Bindings[0].ToExchange || got.Bindings[1].Key != "order.#" {
		t.Errorf("%+v", got)
	}
	if _, err := ParseDefinitions([]byte("{\n\"queues\": 7}"), "/"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

func TestDiffComparesTheTypeAndNotHowItIsSaid(t *testing.T) {
	said := Topology{Queues: []Queue{{Name: "q", Type: "quorum"}}}
	argued := Topology{Queues: []Queue{{Name: "q", Type: "quorum", Arguments: map[string]any{ArgQueueType: "quorum"}}}}
	silent := Topology{Queues: []Queue{{Name: "q"}}}
	if c := append(Diff(said, argued), Diff(said, silent)...); len(c) != 0 {
		t.Errorf("%+v", c)
	}
	one := Topology{Bindings: []Binding{{Source: "h", Destination: "q", Arguments: map[string]any{"x-match": "all"}}}}
	two := Topology{Bindings: []Binding{{Source: "h", Destination: "q", Arguments: map[string]any{"x-match": "any"}}}}
	if c := Diff(one, two); len(c) != 2 {
		t.Errorf("%+v", c)
	}
}
