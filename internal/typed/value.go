// Package typed writes headers as JSON that keeps their types, and reads them
// back.
package typed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// Value is a header's value with its type, so that what was written down can
// be turned back into the very same message: {"type": "int32", "value": 7}.
//
// The types are null, bool, string, string+base64 (text that is not UTF-8),
// bytes (base64), the integers and floats by their Go names, time (RFC 3339),
// list and table (of Values); anything else has the name of its Go type and
// its text.
type Value struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Of wraps v and what it contains.
func Of(v any) Value {
	switch v := Plain(v).(type) {
	case nil:
		return Value{Type: "null"}
	case []byte:
		return Value{"bytes", base64.StdEncoding.EncodeToString(v)}
	case time.Time:
		return Value{"time", v.UTC().Format(time.RFC3339Nano)}
	case string:
		if !utf8.ValidString(v) {
			// JSON would replace what is not UTF-8, and this would not be the
			// message any more.
			return Value{"string+base64", base64.StdEncoding.EncodeToString([]byte(v))}
		}
		return Value{"string", v}
	case float32, float64:
		return ofFloat(v)
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return Value{reflect.TypeOf(v).String(), v}
	case []any:
		list := make([]Value, len(v))
		for i := range v {
			list[i] = Of(v[i])
		}
		return Value{"list", list}
	case map[string]any:
		return Value{"table", Table(v)}
	default:
		return Value{fmt.Sprintf("%T", v), fmt.Sprint(v)}
	}
}

// ofFloat writes as text what JSON has no number for.
func ofFloat(v any) Value {
	if _, err := json.Marshal(v); err != nil {
		return Value{reflect.TypeOf(v).String(), fmt.Sprint(v)}
	}
	return Value{reflect.TypeOf(v).String(), v}
}

// Table wraps the values of a table; nil stays nil.
func Table(table map[string]any) map[string]Value {
	if table == nil {
		return nil
	}
	out := make(map[string]Value, len(table))
	for name, v := range table {
		out[name] = Of(v)
	}
	return out
}

// Plain turns a driver's named tables and lists (amqp.Table and its like) into
// map[string]any and []any, so that nobody here need know the driver.
func Plain(v any) any {
	switch v.(type) {
	case nil, string, []byte, time.Time, map[string]any, []any:
		return v
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String:
		table := make(map[string]any, r.Len())
		for it := r.MapRange(); it.Next(); {
			table[it.Key().String()] = Plain(it.Value().Interface())
		}
		return table
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = Plain(r.Index(i).Interface())
		}
		return list
	default:
		return v
	}
}
