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
	for name, c := range map[string]struct {
		manifests []Manifest
		want      []FaultKind
	}{
		"another key":             {[]Manifest{producer, billing("refund.*")}, []FaultKind{Unpublished, Unbound}},
		"another virtual host":    {[]Manifest{producer, elsewhere}, []FaultKind{Unbound, Unpublished}},
		"another type":            {[]Manifest{producer, differs}, []FaultKind{Conflict}},
		"nobody consumes":         {[]Manifest{producer, idle}, []FaultKind{Unconsumed}},
		"nobody declares":         {[]Manifest{producer, gone}, []FaultKind{Undeclared}},
		"dead letters go nowhere": {[]Manifest{producer, ended}, []FaultKind{DeadEnd}},
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
