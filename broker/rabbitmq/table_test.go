package rabbitmq

import (
	"bytes"
	"io"
	"math"
	"net"
	"reflect"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var everyType = amqp.Table{
	"nil": nil, "bool": true, "byte": byte(1), "int8": int8(-1), "int16": int16(1), "uint16": uint16(1), "int": 1,
	"int32": int32(1), "uint32": uint32(1), "int64": int64(1), "float32": float32(1), "float64": 1.0, "string": "größe",
	"bytes": []byte{1, 2, 3}, "time": time.Unix(1, 0), "decimal": amqp.Decimal{Scale: 1, Value: 2},
	"table": amqp.Table{"a": amqp.Table{"b": "c"}, "": nil}, "array": []any{"a", int64(1), []any{true}, amqp.Table{"x": nil}},
}

// TestTableSize compares with what the client writes on the wire.
func TestTableSize(t *testing.T) {
	t.Parallel()
	for _, table := range []amqp.Table{{}, {"a": "b"}, everyType} {
		if got, want := tableSize(table), wireSize(t, table); got != want {
			t.Errorf("%v: %d bytes, want %d", table, got, want)
		}
	}
}

// wireSize lets the client write a table and counts: the properties that it
// offers at the beginning of a connection are one.
func wireSize(t *testing.T, table amqp.Table) int {
	t.Helper()
	sizes := make([]int, 2)
	for i, properties := range []amqp.Table{{"k": amqp.Table{}}, {"k": table}} {
		sizes[i] = startOkSize(t, properties)
	}
	return sizes[1] - sizes[0] + tableSize(amqp.Table{})
}

// startOkSize plays the broker up to the client's answer.
func startOkSize(t *testing.T, properties amqp.Table) int {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go func() {
		_, _ = amqp.Open(client, amqp.Config{ // it fails: nobody answers
			SASL: []amqp.Authentication{login{"a", "b", nil}}, Properties: properties, Locale: "en_US",
		})
	}()
	if _, err := io.ReadFull(server, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	// connection.start 0-9 with no properties, PLAIN and en_US.
	start := []byte{0, 10, 0, 10, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 'P', 'L', 'A', 'I', 'N', 0, 0, 0, 5, 'e', 'n', '_', 'U', 'S'}
	frame := append([]byte{1, 0, 0, 0, 0, 0, byte(len(start))}, append(start, 0xce)...)
	if _, err := server.Write(frame); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 7)
	if _, err := io.ReadFull(server, head); err != nil {
		t.Fatal(err)
	}
	return int(head[3])<<24 | int(head[4])<<16 | int(head[5])<<8 | int(head[6])
}

func TestToTable(t *testing.T) {
	t.Parallel()
	got, err := toTable(map[string]any{
		"int": 1 << 40, "uint": uint(7), "uint64": uint64(8), "map": map[string]any{"n": 1}, "strings": []string{"a"},
		"any": []any{1, map[string]any{}}, "text": "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := amqp.Table{
		"int": int64(1 << 40), "uint": int64(7), "uint64": int64(8), "map": amqp.Table{"n": int64(1)}, "strings": []any{"a"},
		"any": []any{int64(1), amqp.Table{}}, "text": "x",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	for name, headers := range map[string]map[string]any{
		"too large":   {"n": uint64(math.MaxUint64)},
		"a struct":    {"s": struct{}{}},
		"deep inside": {"a": []any{map[string]any{"c": make(chan int)}}},
		"a long name": {string(bytes.Repeat([]byte{'x'}, 256)): 1},
	} {
		if _, err := toTable(headers); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
