package topology

import (
	"slices"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		binding, key string
		want         bool
	}{
		{"order.placed", "order.placed", true},
		{"order.*", "order.placed", true},
		{"order.*", "order", false},
		{"order.*", "order.placed.v2", false},
		{"order.#", "order", true},
		{"order.#", "order.placed.v2", true},
		{"#", "anything.at.all", true},
		{"#.v2", "order.placed.v2", true},
		{"*.placed", "order.#", false}, // it takes some of what the key stands for, and not all
		{"order.*", "order.*", true},
		{"order.placed", "order.*", false},
		{"#", "#", true},
		{"", "", true},
	} {
		if got := Matches(c.binding, c.key); got != c.want {
			t.Errorf("%q takes %q: %v, want %v", c.binding, c.key, got, c.want)
		}
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"order.*", "*.placed", true},
		{"order.#", "#.v2", true},
		{"order.placed", "order.*", true},
		{"order.placed", "refund.*", false},
		{"a.b", "a", false},
		{"#", "a.b.c", true},
	} {
		if Overlap(c.a, c.b) != c.want || Overlap(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.want)
		}
	}
}

func TestRoute(t *testing.T) {
	x := NewIndex(&Topology{
		Exchanges: []Exchange{
			{Name: "shop", Type: "topic", Alternate: "rest"},
			{Name: "inner", Type: "direct"},
			{Name: "rest", Type: "fanout"},
			{Name: "later", Type: "x-delayed-message", Arguments: map[string]any{"x-delayed-type": "direct"}},
			{Name: "loop", Type: "fanout"},
		},
		Queues: []Queue{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "strays"}},
		Bindings: []Binding{
			{Source: "shop", Destination: "a", Key: "order.#"},
			{Source: "shop", Destination: "inner", ToExchange: true, Key: "order.paid"},
			{Source: "inner", Destination: "b", Key: "order.paid"},
			{Source: "rest", Destination: "strays"},
			{Source: "later", Destination: "c", Key: "c"},
			{Source: "loop", Destination: "loop", ToExchange: true},
		},
	})
	for _, c := range []struct {
		exchange, key string
		want          []string
	}{
		{"shop", "order.placed", []string{"a"}},
		{"shop", "order.paid", []string{"a", "b"}},
		{"shop", "refund", []string{"strays"}},
		{"", "b", []string{"b"}},
		{"", "nobody", nil},
		{"gone", "x", nil},
		{"later", "c", []string{"c"}},
		{"later", "d", nil},
		{"loop", "x", nil},
	} {
		if got := x.Route(c.exchange, c.key); !slices.Equal(got, c.want) {
			t.Errorf("%q with %q reaches %v, want %v", c.exchange, c.key, got, c.want)
		}
	}
}

// With one way back for each #, these would not end.
func TestManyHashesEnd(t *testing.T) {
	hashes, words := strings.Repeat("#.", 60), strings.Repeat("a.", 100)
	if Matches(hashes+"x", words+"a") || !Matches(hashes+"a", words+"a") {
		t.Error("the last word decides")
	}
	if Overlap(hashes+"x", hashes+"y") || !Overlap(hashes+"x", words+"x") {
		t.Error("the last word decides whether patterns overlap")
	}
}
