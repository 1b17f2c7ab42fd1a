package management

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// object is one entry of a list. Its fields are read one by one, each by its own
// type: a field that a version gives another type, or none, is its zero value
// and spoils nothing else.
type object map[string]json.RawMessage

func read[T any](o object, name string) (v T) {
	if raw, ok := o[name]; ok && json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}

func (o object) text(name string) string { return read[string](o, name) }
func (o object) yes(name string) bool    { return read[bool](o, name) }
func (o object) texts(name string) []string {
	return read[[]string](o, name)
}

func (o object) number(name string) int64 { return int64(read[float64](o, name)) }

func (o object) fraction(name string) float64 { return read[float64](o, name) }

func (o object) arguments(name string) Arguments { return read[Arguments](o, name) }

func (o object) object(name string) object { return read[object](o, name) }

// rate is messages a second of a counter, as "ack_details": {"rate": 1.5}.
func (o object) rate(name string) float64 { return o.object(name + "_details").fraction("rate") }

// times are the forms in which versions write a time.
var times = []string{"2006-01-02T15:04:05.999-07:00", "2006-01-02 15:04:05", time.RFC3339Nano, "2006-01-02T15:04:05.999"}

func (o object) time(name string) time.Time {
	text := o.text(name)
	for _, form := range times {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// each decodes a list entry by entry, so that no list is in memory twice.
func each(dec *json.Decoder, take func(object)) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	return entries(dec, take)
}

// page decodes {"items": […], "page_count": N, …}; an older form is the list
// alone, which is one page.
func page(from io.Reader, take func(object)) (pages int, err error) {
	dec := json.NewDecoder(from)
	first, err := dec.Token()
	if err != nil {
		return 0, err
	}
	if first == json.Delim('[') {
		return 1, entries(dec, take)
	}
	if first != json.Delim('{') {
		return 0, fmt.Errorf("neither a list nor a page, but %v", first)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return 0, err
		}
		switch name {
		case "items":
			err = each(dec, take)
		case "page_count":
			err = dec.Decode(&pages)
		default:
			var other json.RawMessage
			err = dec.Decode(&other)
		}
		if err != nil {
			return 0, err
		}
	}
	return pages, expect(dec, '}')
}

// entries decodes what follows the beginning of a list. Its end must be there:
// an answer that was cut off would pass for a broker with less on it.
func entries(dec *json.Decoder, take func(object)) error {
	for dec.More() {
		var o object
		if err := dec.Decode(&o); err != nil {
			return err
		}
		take(o)
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%v where %v was expected", got, want)
	}
	return nil
}

func decode(from io.Reader, v any) error { return json.NewDecoder(from).Decode(v) }
