package topology

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ManifestVersion is the one version that is read and written.
const ManifestVersion = 1

// Parse reads one manifest. A field that is not known is an error: a binding
// that is misspelt would otherwise be one that is missing. Errors name the line.
func Parse(text []byte) (m Manifest, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("topology: line %d: %w", lineAt(text, offsetOf(err, dec)), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, fmt.Errorf("topology: line %d: there is more than one manifest", lineAt(text, dec.InputOffset()))
	}
	return m, m.validate()
}

func offsetOf(err error, dec *json.Decoder) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	default:
		return dec.InputOffset()
	}
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

func (m *Manifest) validate() error {
	var errs []error
	if m.Version != ManifestVersion {
		errs = append(errs, fmt.Errorf("topology: version must be %d, not %d", ManifestVersion, m.Version))
	}
	if m.Service == "" {
		errs = append(errs, errors.New("topology: service must be named"))
	}
	for i, q := range m.Declares.Queues {
		if q.Name == "" {
			errs = append(errs, fmt.Errorf("topology: queue %d of %q has no name", i, m.Service))
		}
	}
	for i, b := range m.Declares.Bindings {
		if b.Destination == "" {
			errs = append(errs, fmt.Errorf("topology: binding %d of %q has no destination", i, m.Service))
		}
	}
	return errors.Join(errs...)
}

// Encode writes a manifest in a fixed order, so that it can be committed and a
// difference shows.
func (m Manifest) Encode() ([]byte, error) {
	m.Declares = m.Declares.sorted()
	m.Publishes = slices.SortedFunc(slices.Values(m.Publishes), func(a, b Publication) int {
		return cmp.Or(strings.Compare(a.Exchange, b.Exchange), strings.Compare(a.Key, b.Key), strings.Compare(a.Type, b.Type))
	})
	m.Consumes = slices.SortedFunc(slices.Values(m.Consumes), func(a, b Consumption) int { return strings.Compare(a.Queue, b.Queue) })
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

func (t Topology) sorted() Topology {
	return Topology{
		Exchanges: slices.SortedFunc(slices.Values(t.Exchanges), func(a, b Exchange) int { return strings.Compare(a.Name, b.Name) }),
		Queues:    slices.SortedFunc(slices.Values(t.Queues), func(a, b Queue) int { return strings.Compare(a.Name, b.Name) }),
		Bindings: slices.SortedFunc(slices.Values(t.Bindings), func(a, b Binding) int {
			return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Destination, b.Destination), strings.Compare(a.Key, b.Key))
		}),
	}
}

// Of is the part of a topology that belongs to a service: what begins with its
// prefix, and the bindings that lead to it from exchanges of others, which
// belong to whoever consumes.
func (t Topology) Of(prefix string) (part Topology) {
	mine := func(name string) bool { return strings.HasPrefix(name, prefix) && name != "" }
	foreign := map[string]bool{}
	for _, q := range t.Queues {
		if mine(q.Name) && !q.Exclusive {
			part.Queues = append(part.Queues, q)
		}
	}
	for _, b := range t.Bindings {
		if b.Source != "" && mine(b.Destination) {
			part.Bindings = append(part.Bindings, b)
			foreign[b.Source] = true
		}
	}
	for _, e := range t.Exchanges {
		if mine(e.Name) || foreign[e.Name] && !strings.HasPrefix(e.Name, "amq.") {
			part.Exchanges = append(part.Exchanges, e)
		}
	}
	return part.sorted()
}
