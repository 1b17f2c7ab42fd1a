package triage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// Value is a header's value with its type, so that an export can be turned
// back into the very same message: {"type": "int32", "value": 7}.
//
// The types are null, bool, string, bytes (base64), the integers and floats by
// their Go names, time (RFC 3339), list and table (of Values); anything else
// has the name of its Go type and its text.
type Value struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// typed wraps v and what it contains.
func typed(v any) Value {
	switch v := plain(v).(type) {
	case nil:
		return Value{Type: "null"}
	case []byte:
		return Value{"bytes", base64.StdEncoding.EncodeToString(v)}
	case time.Time:
		return Value{"time", v.UTC().Format(time.RFC3339Nano)}
	case string:
		if !utf8.ValidString(v) {
			// JSON would replace what is not UTF-8, and the export would not be
			// the message any more.
			return Value{"string+base64", base64.StdEncoding.EncodeToString([]byte(v))}
		}
		return Value{"string", v}
	case float32, float64:
		return typedFloat(v)
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return Value{reflect.TypeOf(v).String(), v}
	case []any:
		list := make([]Value, len(v))
		for i := range v {
			list[i] = typed(v[i])
		}
		return Value{"list", list}
	case map[string]any:
		return Value{"table", typedTable(v)}
	default:
		return Value{fmt.Sprintf("%T", v), fmt.Sprint(v)}
	}
}

// typedFloat writes as text what JSON has no number for.
func typedFloat(v any) Value {
	if _, err := json.Marshal(v); err != nil {
		return Value{reflect.TypeOf(v).String(), fmt.Sprint(v)}
	}
	return Value{reflect.TypeOf(v).String(), v}
}

func typedTable(table map[string]any) map[string]Value {
	if table == nil {
		return nil
	}
	out := make(map[string]Value, len(table))
	for name, v := range table {
		out[name] = typed(v)
	}
	return out
}

// plain turns a driver's named tables and lists (amqp.Table and its like) into
// map[string]any and []any, so that this package need not know the driver.
func plain(v any) any {
	switch v.(type) {
	case nil, string, []byte, time.Time, map[string]any, []any:
		return v
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String:
		table := make(map[string]any, r.Len())
		for it := r.MapRange(); it.Next(); {
			table[it.Key().String()] = plain(it.Value().Interface())
		}
		return table
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = plain(r.Index(i).Interface())
		}
		return list
	default:
		return v
	}
}

// textOf is a header's value for people.
func textOf(v any) string {
	switch v := plain(v).(type) {
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
	switch v := plain(v).(type) {
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
