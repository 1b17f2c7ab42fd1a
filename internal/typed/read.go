package typed

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Marshal writes headers as a JSON object of Values. It does not fail: what
// has no type of its own is written as text.
func Marshal(headers map[string]any) []byte {
	b, err := json.Marshal(Table(headers))
	if err != nil {
		panic(err) // Values are made of what JSON takes
	}
	return b
}

// Unmarshal reads what [Marshal] wrote. Null and nothing are no headers. A
// value of a type that only a driver knows comes back as its text.
func Unmarshal(text []byte) (map[string]any, error) {
	headers := map[string]any{}
	if len(bytes.TrimSpace(text)) == 0 {
		return headers, nil
	}
	var table map[string]raw
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("headers are no JSON object of typed values: %w", err)
	}
	return headers, fill(headers, table)
}

// raw is a Value whose value is still text.
type raw struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func fill(to map[string]any, table map[string]raw) error {
	for name, v := range table {
		value, err := v.value()
		if err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		to[name] = value
	}
	return nil
}

// numbers are the types whose value is a number, by their names.
var numbers = named(int(0), int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), float64(0))

func named(values ...any) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, v := range values {
		t := reflect.TypeOf(v)
		types[t.String()] = t
	}
	return types
}

func (v raw) value() (any, error) {
	switch v.Type {
	case "null":
		return nil, nil
	case "bool":
		var b bool
		return b, json.Unmarshal(v.Value, &b)
	case "list":
		return v.list()
	case "table":
		var table map[string]raw
		if err := json.Unmarshal(v.Value, &table); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(table))
		return out, fill(out, table)
	}
	if t, ok := numbers[v.Type]; ok {
		return number(t, v.Value)
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil {
		return nil, err
	}
	switch v.Type {
	case "bytes":
		return base64.StdEncoding.DecodeString(text)
	case "string+base64":
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	case "time":
		return time.Parse(time.RFC3339Nano, text)
	}
	return text, nil
}

func (v raw) list() (any, error) {
	var items []raw
	if err := json.Unmarshal(v.Value, &items); err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = item.value(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// number reads a number. A float that JSON has no number for is text.
func number(t reflect.Type, text []byte) (any, error) {
	to := reflect.New(t).Elem()
	var s string
	if to.CanFloat() && json.Unmarshal(text, &s) == nil {
		f, err := strconv.ParseFloat(s, 64)
		to.SetFloat(f)
		return to.Interface(), err
	}
	err := json.Unmarshal(text, to.Addr().Interface())
	return to.Interface(), err
}
