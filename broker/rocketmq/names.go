package rocketmq

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxTopic and maxGroup are what a broker takes as a name.
	maxTopic = 127
	maxGroup = 120

	retryPrefix      = "%RETRY%"
	deadLetterPrefix = "%DLQ%"
	holdSuffix       = ".hold"
)

// source is a queue: a consumer group on a topic.
type source struct{ topic, group string }

func (s source) String() string { return s.topic + "/" + s.group }

func parseSource(queue string) (source, error) {
	topic, group, ok := strings.Cut(queue, "/")
	if !ok || !validName(topic) || !validName(group) || len(topic) > maxTopic || len(group) > maxGroup {
		return source{}, fmt.Errorf("%w: rocketmq: a queue is TOPIC/GROUP, a topic and a consumer group of it, not %.100q", broker.ErrConfig, queue)
	}
	return source{topic, group}, nil
}

// validName is what a broker takes as a name, without the "%" that begins the
// names of its own topics and separates names in ours.
func validName(name string) bool {
	const others = "-_|"
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	}) < 0
}

// back is the topic from which a popping group gets its messages again. The
// broker makes this name of group and topic.
func (s source) back() string { return retryPrefix + s.group + "_" + s.topic }

// backNew is the same topic where the broker has enableRetryTopicV2.
func (s source) backNew() string { return retryPrefix + s.group + "+" + s.topic }

// admits is the group that a broker looks up before it takes a message for
// back: whatever follows the prefix.
func (s source) admits() string { return s.group + "_" + s.topic }

// names gives everything of the driver's own its name.
type names struct{ ns string }

func newNames(namespace string) names { return names{strings.ReplaceAll(namespace, ".", "_")} }

func (n names) parked(s source) string {
	return fitting(n.ns + "_parked_" + s.topic + "%" + s.group)
}

func (n names) gone(place string) string { return fitting(n.ns + "_gone_" + place) }

// fitting cuts a name that is too long, and lets a hash of the whole tell it
// from others.
func fitting(name string) string {
	if len(name) <= maxTopic {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:8])
	return name[:maxTopic-len(hash)-1] + "-" + hash
}

// place is somewhere that messages wait.
type place struct {
	source source // of a source; else empty
	topic  string // of any other place
	held   bool
}

func parsePlace(queue string) (place, error) {
	if !strings.Contains(queue, "/") {
		if queue == "" || len(queue) > 255 {
			return place{}, fmt.Errorf("rocketmq: there is no topic %.100q: %w", queue, broker.ErrMissing)
		}
		return place{topic: queue}, nil
	}
	name, held := strings.CutSuffix(queue, holdSuffix)
	s, err := parseSource(name)
	return place{source: s, held: held}, err
}

// deadLettered says why the broker moved a message to this topic, if it did:
// only clients that do not pop let it.
func deadLettered(topic string) string {
	if strings.HasPrefix(topic, deadLetterPrefix) {
		return "maxReconsumeTimes"
	}
	return ""
}
