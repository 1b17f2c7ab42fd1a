package rabbitmq

import (
	"cmp"
	"slices"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// hopLimit is the most bytes that the headers of a copy may take when the
	// broker will move it once more and add to them. Above some 131,000 bytes
	// a message is confirmed and can then not be read any more.
	hopLimit = 64 << 10

	// restLimit is for a copy that stays where it is put.
	restLimit = 120 << 10

	// captureRoom is what the capture's fields take at most, error and cause
	// apart: seventeen names, five of AMQP's short strings, hashes and times.
	captureRoom = 4 << 10

	// maxText is the most bytes of an error text on a copy.
	maxText = 2 << 10

	// textOverhead is what a text takes at most besides its own bytes.
	textOverhead = 64
)

// oversize reports whether headers of this many bytes leave no room for a
// capture on a copy that takes a hop.
func oversize(size int) bool { return size > hopLimit-captureRoom }

// setCapture writes c into table, without its texts, and returns what the
// table then takes. It had no field of a capture before.
func setCapture(table amqp.Table, c *broker.Capture) int {
	size := tableSize(table)
	lean := *c
	lean.Error, lean.Cause = "", ""
	lean.Each(func(name string, v any) {
		// An origin or a token longer than AMQP can carry was not read from AMQP.
		if s, ok := v.(string); ok && len(s) > maxShort {
			v = cutText(s, maxShort)
		}
		table[name] = v
		size += entrySize(name, v)
	})
	return size
}

// textsSize is what the texts of c take when there is room for them.
func textsSize(c *broker.Capture) int {
	size := 0
	for _, text := range [...]string{c.Error, c.Cause} {
		if text != "" {
			size += textOverhead + min(maxText, len(text))
		}
	}
	return size
}

// setText writes as much of a text as there is room for, and returns what that
// takes.
func setText(table amqp.Table, name, text string, room int) int {
	overhead := entrySize(name, "")
	if text == "" || room <= overhead {
		return 0
	}
	cut := cutText(text, min(maxText, room-overhead))
	table[name] = cut
	return overhead + len(cut)
}

// cutText cuts s to at most n bytes, at the beginning of a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// maxCutNames is how many names are recorded; "…" stands for the others.
const maxCutNames = 32

// squeeze cuts the largest values of table until it takes at most limit
// bytes, and records whose they were. A message that is parked must neither
// be refused nor be stored unreadable, so that some of its headers are lost
// rather than the message.
func squeeze(table amqp.Table, limit int) {
	if tableSize(table) <= limit {
		return
	}
	var cut []any
	for _, name := range bySize(table) {
		if tableSize(table) <= limit {
			return
		}
		cut = record(cut, name)
		table[headerCut] = cut
		shrink(table, name, tableSize(table)-limit)
	}
}

func record(cut []any, name string) []any {
	switch len(cut) {
	case maxCutNames + 1:
		return cut
	case maxCutNames:
		name = "…"
	}
	return append(cut, name)
}

// shrink makes one value smaller by what is over, or as far as it goes.
func shrink(table amqp.Table, name string, over int) {
	switch v := table[name].(type) {
	case string:
		table[name] = cutText(v, max(0, len(v)-over))
	case []byte:
		table[name] = v[:max(0, len(v)-over)]
	default:
		delete(table, name)
	}
}

// bySize lists the headers that may be cut, the largest first. Ours stay.
func bySize(table amqp.Table) []string {
	var own []string
	for name := range table {
		if !broker.CaptureField(name) && name != headerSeq && name != headerCut {
			own = append(own, name)
		}
	}
	slices.SortFunc(own, func(a, b string) int {
		return cmp.Or(cmp.Compare(entrySize(b, table[b]), entrySize(a, table[a])), cmp.Compare(a, b))
	})
	return own
}
