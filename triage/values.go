package triage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/internal/typed"
)

// Value is a header's value with its type, so that an export can be turned
// back into the very same message: {"type": "int32", "value": 7}.
//
// The types are null, bool, string, string+base64 (text that is not UTF-8),
// bytes (base64), the integers and floats by their Go names, time (RFC 3339),
// list and table (of Values); anything else has the name of its Go type and
// its text.
type Value = typed.Value

// textOf is a header's value for people.
func textOf(v any) string {
	switch v := typed.Plain(v).(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case []any, map[string]any:
		b, err := json.Marshal(texts(v))
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(b)
	default:
		return fmt.Sprint(v)
	}
}

// texts prepares a nested value for JSON that people read.
func texts(v any) any {
	switch v := typed.Plain(v).(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = texts(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = texts(value)
		}
		return out
	case []byte, time.Time:
		return textOf(v)
	default:
		return v
	}
}

// Text returns a header's value as people read it. It may hold any character
// that the message's producer put there: escape it before a terminal sees it.
func Text(v any) string { return textOf(v) }

func integerOf(v any) (int64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanInt():
		return r.Int(), true
	case r.CanUint() && r.Uint() < 1<<63:
		return int64(r.Uint()), true
	default:
		return 0, false
	}
}
