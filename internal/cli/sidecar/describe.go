package sidecar

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// fact is one thing that the other side is told of a message beside its body.
type fact struct{ name, value string }

// factsOf describes m, in a fixed order. Empty facts are left out.
func factsOf(m *holdfast.Message) []fact {
	all := []fact{
		{"Attempt", strconv.Itoa(m.Attempt)},
		{"Try", strconv.Itoa(m.Try)},
		{"Lap", strconv.Itoa(m.Lap)},
		{"Redelivered", strconv.FormatBool(m.Redelivered)},
		{"Message-Id", m.ID},
		{"Correlation-Id", m.CorrelationID},
		{"Reply-To", m.ReplyTo},
		{"Exchange", m.Origin.Exchange},
		{"Key", m.Origin.Key},
		{"Queue", m.Origin.Queue},
		{"Type", m.Type},
		{"App-Id", m.AppID},
	}
	if !m.Timestamp.IsZero() {
		all = append(all, fact{"Timestamp", m.Timestamp.UTC().Format(time.RFC3339)})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

// headersOf are those of m's own headers that can be written as text, sorted
// by name. Holdfast's own are told as facts, and the broker's records are
// tables, which are no text.
func headersOf(m *holdfast.Message) []fact {
	var out []fact
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		if strings.HasPrefix(strings.ToLower(name), broker.HeaderPrefix) {
			continue
		}
		if value, ok := text(m.Headers[name]); ok {
			out = append(out, fact{name, value})
		}
	}
	return out
}

func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, utf8.ValidString(v)
	case []byte:
		return string(v), utf8.Valid(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339), true
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
		return "", false
	case r.Kind() == reflect.Bool, r.CanInt(), r.CanUint(), r.CanFloat():
		return fmt.Sprint(v), true
	default:
		return "", false
	}
}
