package typed

import (
	"math"
	"reflect"
	"testing"
	"time"
)

type table map[string]any

func TestMarshal_keeps_types(t *testing.T) {
	t.Parallel()
	headers := map[string]any{
		"nothing": nil, "flag": true, "text": "ünï", "latin": "caf\xe9", "raw": []byte{0, 255},
		"int": 7, "i8": int8(-8), "i16": int16(16), "i32": int32(math.MinInt32), "i64": int64(math.MaxInt64),
		"u8": uint8(255), "u16": uint16(1), "u32": uint32(2), "u64": uint64(math.MaxUint64), "uint": uint(3),
		"f32": float32(1.5), "f64": 1.0, "inf": math.Inf(1), "at": time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		"list": []any{int32(1), "a", []any{nil}}, "table": map[string]any{"a": int16(2), "b": map[string]any{}},
		"empty": "", "no bytes": []byte{},
	}
	got, err := Unmarshal(Marshal(headers))
	if err != nil || !reflect.DeepEqual(got, headers) {
		t.Errorf("%v\ngot  %#v\nwant %#v", err, got, headers)
	}
}

func TestUnmarshal_of_a_drivers_types(t *testing.T) {
	t.Parallel()
	got, err := Unmarshal(Marshal(map[string]any{"t": table{"a": 1}, "odd": struct{ A int }{1}}))
	want := map[string]any{"t": map[string]any{"a": 1}, "odd": "{1}"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestUnmarshal_of_what_nobody_wrote(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "null", "{}"} {
		if got, err := Unmarshal([]byte(text)); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"[", "[]", `{"a":1}`, `{"a":{"type":"int8","value":300}}`, `{"a":{"type":"bytes","value":"%"}}`,
		`{"a":{"type":"time","value":"soon"}}`, `{"a":{"type":"list","value":[1]}}`, `{"a":{"type":"int","value":"7"}}`,
	} {
		if got, err := Unmarshal([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
