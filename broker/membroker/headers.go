package membroker

import (
	"maps"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// captureRoom is what a capture adds to a message's headers at most, about.
const captureRoom = 8 << 10

func headerOf(m *broker.Message) func(string) (any, bool) {
	return func(name string) (any, bool) {
		v, ok := m.Headers[name]
		return v, ok
	}
}

// stamped returns headers with c in place of any capture that was there,
// forged or not.
func stamped(headers map[string]any, c *broker.Capture) map[string]any {
	out := maps.Clone(headers)
	if out == nil {
		out = map[string]any{}
	}
	maps.DeleteFunc(out, func(name string, _ any) bool { return isCapture(name) })
	c.Each(func(name string, value any) { out[name] = value })
	return out
}

// fresh returns headers without any trace of failure, and with stamp.
func fresh(headers, stamp map[string]any) map[string]any {
	out := maps.Clone(headers)
	maps.DeleteFunc(out, func(name string, _ any) bool { return isCapture(name) })
	return withStamp(out, stamp)
}

func withStamp(headers, stamp map[string]any) map[string]any {
	if len(stamp) == 0 {
		return headers
	}
	out := maps.Clone(headers)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, stamp)
	return out
}

// isCapture says which headers belong to a capture; a replay's do not.
func isCapture(name string) bool {
	return strings.HasPrefix(name, broker.HeaderPrefix) && name != broker.HeaderReplayID && name != broker.HeaderReplays
}

func headerSize(headers map[string]any) int {
	n := 0
	for name, value := range headers {
		n += len(name) + valueSize(value)
	}
	return n
}

func valueSize(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	default:
		return 8
	}
}
