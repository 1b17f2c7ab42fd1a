package topology

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Change is one difference between two topologies.
type Change struct {
	// What is added, removed or changed. A change of an exchange or a queue is
	// one that the broker refuses with 406: it has to be deleted first, or set by
	// a policy.
	What    string   `json:"what"`
	Kind    string   `json:"kind"` // exchange, queue or binding
	Name    string   `json:"name"`
	Details []string `json:"details,omitempty"`
}

// The kinds of change.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Diff says what leads from one topology to another, in a fixed order.
func Diff(from, to Topology) (changes []Change) {
	changes = append(changes, compare("exchange", byName(from.Exchanges, exchangeName), byName(to.Exchanges, exchangeName), exchangeDetails)...)
	changes = append(changes, compare("queue", byName(from.Queues, queueName), byName(to.Queues, queueName), queueDetails)...)
	return append(changes, compare("binding", byName(from.Bindings, bindingName), byName(to.Bindings, bindingName), nil)...)
}

func exchangeName(e Exchange) string { return e.Name }
func queueName(q Queue) string       { return q.Name }

func bindingName(b Binding) string {
	kind := "queue"
	if b.ToExchange {
		kind = "exchange"
	}
	name := fmt.Sprintf("%q to %s %q with %q", b.Source, kind, b.Destination, b.Key)
	if len(b.Arguments) > 0 {
		name += fmt.Sprintf(" and %v", b.Arguments) // printed in the order of its keys
	}
	return name
}

func byName[T any](list []T, name func(T) string) map[string]T {
	all := map[string]T{}
	for _, v := range list {
		all[name(v)] = v
	}
	return all
}

func compare[T any](kind string, from, to map[string]T, details func(a, b T) []string) (changes []Change) {
	names := maps.Clone(from)
	maps.Copy(names, to)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, was := from[name]
		b, is := to[name]
		switch {
		case !was:
			changes = append(changes, Change{What: Added, Kind: kind, Name: name})
		case !is:
			changes = append(changes, Change{What: Removed, Kind: kind, Name: name})
		case details != nil:
			if lines := details(a, b); len(lines) > 0 {
				changes = append(changes, Change{What: Changed, Kind: kind, Name: name, Details: lines})
			}
		}
	}
	return changes
}

func exchangeDetails(a, b Exchange) (lines []string) {
	lines = detail(lines, "type", a.Type, b.Type)
	lines = detail(lines, "durable", a.Durable, b.Durable)
	lines = detail(lines, "auto-delete", a.Delete, b.Delete)
	lines = detail(lines, "internal", a.Internal, b.Internal)
	return argumentDetails(lines, a.Arguments, b.Arguments)
}

func queueDetails(a, b Queue) (lines []string) {
	if a.kind() != "" && b.kind() != "" { // else it is what the virtual host has as default
		lines = detail(lines, "type", a.kind(), b.kind())
	}
	lines = detail(lines, "durable", a.Durable, b.Durable)
	lines = detail(lines, "auto-delete", a.Delete, b.Delete)
	lines = detail(lines, "exclusive", a.Exclusive, b.Exclusive)
	return argumentDetails(lines, a.Arguments, b.Arguments)
}

func detail(lines []string, name string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return lines
	}
	return append(lines, fmt.Sprintf("%s: %v → %v", name, shown(a), shown(b)))
}

func shown(v any) any {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return fmt.Sprintf("%q", v)
	case float64:
		if n, ok := whole(v); ok {
			return n
		}
	}
	return v
}

// argumentDetails leaves out the type of a queue, which is compared as such.
func argumentDetails(lines []string, a, b map[string]any) []string {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	delete(names, ArgQueueType)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		lines = detail(lines, name, a[name], b[name])
	}
	return lines
}
