package rabbitmq

import (
	"fmt"
	"math"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// maxShort is the most bytes of AMQP's short strings: names, keys and all
// properties but the headers.
const maxShort = 255

// tableSize is how many bytes a table takes on the wire.
func tableSize(table map[string]any) int {
	size := 4
	for name, v := range table {
		size += entrySize(name, v)
	}
	return size
}

func entrySize(name string, v any) int { return 1 + len(name) + fieldSize(v) }

func fieldSize(v any) int {
	const tag, length = 1, 4
	switch v := v.(type) {
	case nil:
		return tag
	case bool, byte, int8:
		return tag + 1
	case int16, uint16:
		return tag + 2
	case int, int32, uint32, float32:
		return tag + 4
	case int64, float64, time.Time:
		return tag + 8
	case amqp.Decimal:
		return tag + 5
	case string:
		return tag + length + len(v)
	case []byte:
		return tag + length + len(v)
	case amqp.Table:
		return tag + tableSize(v)
	case []any:
		size := tag + length
		for _, e := range v {
			size += fieldSize(e)
		}
		return size
	}
	return tag
}

// toTable makes an AMQP table of headers that a caller wrote. The client
// refuses some of Go's own types and cuts an int to 32 bits; here they are
// taken as what they mean. What has no AMQP form is an error.
func toTable(headers map[string]any) (amqp.Table, error) {
	table := make(amqp.Table, len(headers)+1) // the publisher adds its number
	for name, v := range headers {
		if len(name) > maxShort {
			return nil, fmt.Errorf("the header name %.40q… has more than %d bytes", name, maxShort)
		}
		field, err := toField(v)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", name, err)
		}
		table[name] = field
	}
	return table, nil
}

func toField(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, byte, int8, int16, int32, int64, uint16, uint32, float32, float64,
		string, []byte, amqp.Decimal, time.Time:
		return v, nil
	case int:
		return int64(v), nil
	case uint:
		return unsigned(uint64(v))
	case uint64:
		return unsigned(v)
	case amqp.Table:
		return toTable(v)
	case map[string]any:
		return toTable(v)
	case []string:
		return toArray(v)
	case []any:
		return toArray(v)
	}
	return nil, fmt.Errorf("a value of type %T cannot be sent over AMQP", v)
}

func unsigned(v uint64) (any, error) {
	if v > math.MaxInt64 {
		return nil, fmt.Errorf("%d does not fit AMQP's 64 signed bits", v)
	}
	return int64(v), nil
}

func toArray[T any](values []T) (any, error) {
	array := make([]any, len(values))
	for i, v := range values {
		field, err := toField(v)
		if err != nil {
			return nil, err
		}
		array[i] = field
	}
	return array, nil
}
