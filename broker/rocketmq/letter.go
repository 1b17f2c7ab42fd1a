package rocketmq

import (
	"fmt"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxProperties is what a message's properties may be in all.
	maxProperties = 32767

	// maxHeaders leaves room for a capture, its texts and what the broker
	// adds.
	maxHeaders = 28 << 10

	// slack is kept free for what is added to a copy on its way: the broker's
	// properties of a timer and of a delivery, a replay's stamp.
	slack = 1 << 10

	// maxText is the most bytes of an error text on a copy.
	maxText = 2 << 10
)

// letter is a message that is ready to be sent.
type letter struct {
	properties properties
	body       []byte
	flag       int
	sysFlag    int
	born       int64 // Unix ms
}

// copied is a copy of m with the properties that want wants. Its body is the
// one that is stored, compressed if it was.
func copied(m *record, want func(name string) bool) letter {
	return letter{
		properties: m.properties.carried(want), body: m.body, flag: m.flag, sysFlag: m.sysFlag & flagsOfTheContent, born: m.born,
	}
}

// captured is a copy with a capture, which is written last so that nothing
// that came with the message stands in its place. Texts are cut to what is
// free, and a copy that has no room for the counts is refused, so that its
// original stays.
func captured(m *record, c *broker.Capture) (letter, error) {
	out := copied(m, replacing)
	if c == nil {
		return letter{}, fmt.Errorf("rocketmq: a copy needs a capture: %w", broker.ErrUnsupported)
	}
	lean := *c
	lean.Error, lean.Cause = "", ""
	lean.Each(out.properties.set)
	free := maxProperties - slack - out.properties.size()
	out.setText(broker.HeaderError, c.Error, &free)
	out.setText(broker.HeaderCause, c.Cause, &free)
	if free < 0 {
		return letter{}, fmt.Errorf("rocketmq: the message's properties leave %d bytes too few for its capture, of %d in all: %w",
			-free, maxProperties, broker.ErrRefused)
	}
	return out, nil
}

// setText writes as much of s as there is room for.
func (m letter) setText(name, s string, free *int) {
	room := *free - len(name) - 2
	if s == "" || room <= 0 {
		return
	}
	m.properties.set(name, cutText(s, min(room, maxText)))
	for len(m.properties[name]) > room { // replaced bytes take more room
		m.properties[name] = cutText(m.properties[name], room)
	}
	*free -= len(name) + len(m.properties[name]) + 2
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

// from is where a copy without a capture says that it came from. A broker drops
// a property without a value.
func (m letter) from(o broker.Origin) {
	for name, v := range map[string]string{propertyTopic: o.Exchange, propertyKey: o.Key} {
		if v != "" {
			m.properties.set(name, v)
		}
	}
}
