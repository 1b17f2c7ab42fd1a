package gcppubsub

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// What Pub/Sub takes in one message. Neither the client nor the emulators
// check it.
const (
	maxAttributes = 100
	maxName       = 256
	maxValue      = 1024
	maxBody       = 10 << 20
	maxKey        = 1024
)

const (
	// attrCapture has the capture as JSON; where that is longer than a value
	// may be, it goes on in attrCapture-1 and so on.
	attrCapture = broker.HeaderPrefix + "capture"

	// maxText is the most bytes of an error text on a copy.
	maxText = 1024

	// maxChunks is how many attributes a capture has at most, with long names
	// in its origin and both texts. reserve is what a message must leave free
	// to take a rung or a hold: those, and our own.
	maxChunks = 6
	reserve   = maxChunks + 3
)

// packed reports whether an attribute is a part of a packed capture.
func packed(name string) bool {
	rest, ok := strings.CutPrefix(name, attrCapture)
	return ok && (rest == "" || rest[0] == '-')
}

func chunkName(i int) string {
	if i == 0 {
		return attrCapture
	}
	return attrCapture + "-" + strconv.Itoa(i)
}

// captured makes a copy with a capture. The texts give way to the limit of
// attributes, the body never does.
func captured(p *pubsubpb.PubsubMessage, c *broker.Capture) (*pubsubpb.PubsubMessage, error) {
	a := carried(p.GetAttributes(), replacing)
	full := *c
	full.Error, full.Cause = cutText(c.Error, maxText), cutText(c.Cause, maxText)
	lean := full
	lean.Error, lean.Cause = "", ""
	for _, form := range []*broker.Capture{&full, &lean} {
		chunks, err := pack(form)
		if err != nil {
			return nil, fmt.Errorf("gcppubsub: the capture cannot be written: %w: %w", broker.ErrRefused, err)
		}
		if len(a)+len(chunks) > maxAttributes {
			continue
		}
		for i, chunk := range chunks {
			a[chunkName(i)] = chunk
		}
		return copyOf(p, a), nil
	}
	return nil, fmt.Errorf("gcppubsub: the message has %d attributes, and its capture needs a few of the %d that Pub/Sub allows: %w",
		len(a), maxAttributes, broker.ErrRefused)
}

// pack writes a capture as text in pieces of at most maxValue bytes.
func pack(c *broker.Capture) ([]string, error) {
	fields := map[string]any{}
	c.Each(func(name string, v any) { fields[strings.TrimPrefix(name, broker.HeaderPrefix)] = v })
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var chunks []string
	for rest := string(text); rest != ""; {
		chunk := cutText(rest, maxValue)
		chunks, rest = append(chunks, chunk), rest[len(chunk):]
	}
	return chunks, nil
}

// capture reads the capture that a message carries, if it was made for queue:
// packed, or as an attribute for each field.
func capture(a map[string]string, queue string) (*broker.Capture, error) {
	if _, ok := a[attrCapture]; !ok {
		return broker.ReadCapture(func(name string) (any, bool) {
			v, ok := a[name]
			return v, ok
		}, queue)
	}
	fields, err := unpack(a)
	if err != nil {
		return nil, fmt.Errorf("gcppubsub: capture: %s is no JSON object", attrCapture)
	}
	return broker.ReadCapture(func(name string) (any, bool) {
		v, ok := fields[strings.TrimPrefix(name, broker.HeaderPrefix)]
		if n, number := v.(json.Number); number {
			v = n.String()
		}
		return v, ok
	}, queue)
}

func unpack(a map[string]string) (map[string]any, error) {
	var text strings.Builder
	for i := 0; ; i++ {
		chunk, ok := a[chunkName(i)]
		if !ok {
			break
		}
		text.WriteString(chunk)
	}
	fields := map[string]any{}
	d := json.NewDecoder(strings.NewReader(text.String()))
	d.UseNumber()
	return fields, d.Decode(&fields)
}

// checkLimits refuses what Pub/Sub would refuse, and says which bound it was.
func checkLimits(m *pubsubpb.PubsubMessage) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("gcppubsub: a message has "+format+": %w", append(args, broker.ErrRefused)...)
	}
	switch {
	case len(m.GetAttributes()) > maxAttributes:
		return refuse("%d attributes, and may have %d", len(m.GetAttributes()), maxAttributes)
	case len(m.GetData()) > maxBody:
		return refuse("%d bytes, and may have %d", len(m.GetData()), maxBody)
	case len(m.GetOrderingKey()) > maxKey:
		return refuse("an ordering key of %d bytes, and it may have %d", len(m.GetOrderingKey()), maxKey)
	}
	for name, v := range m.GetAttributes() {
		switch {
		case name == "" || len(name) > maxName:
			return refuse("an attribute whose name has %d bytes, and may have 1 to %d", len(name), maxName)
		case len(v) > maxValue:
			return refuse("%d bytes in attribute %.60q, and may have %d", len(v), name, maxValue)
		case !utf8.ValidString(name) || !utf8.ValidString(v):
			return refuse("attribute %.60q, which is no text in UTF-8", name)
		}
	}
	return nil
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
