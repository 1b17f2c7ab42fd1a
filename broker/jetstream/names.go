package jetstream

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// source is a queue: a consumer of a stream.
type source struct{ stream, consumer string }

func (s source) String() string { return s.stream + "/" + s.consumer }

// backConsumer reads what has come back for s. A "+" can be neither in doubt
// nor in the way: a server keeps consumers in folders of their names.
func (s source) backConsumer() string { return s.stream + "+" + s.consumer }

func parseSource(queue string) (source, error) {
	stream, consumer, ok := strings.Cut(queue, "/")
	if !ok || !validName(stream) || !validName(consumer) {
		return source{}, fmt.Errorf("%w: jetstream: a queue is STREAM/CONSUMER, a durable pull consumer of a stream, not %.100q", broker.ErrConfig, queue)
	}
	s := source{stream, consumer}
	if len(s.backConsumer()) > maxName {
		return source{}, fmt.Errorf("%w: jetstream: the names of stream and consumer have %d bytes together, and may have %d",
			broker.ErrConfig, len(s.backConsumer())-1, maxName-1)
	}
	return s, nil
}

// validName is what a server takes as the name of a stream or a consumer, and
// so as one token of a subject.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, ".*>/\\ \t\r\n\f")
}

// The suffixes of a source's places. A consumer's name has no dot.
const (
	parkedSuffix = ".parked"
	holdSuffix   = ".hold"
)

// The kinds of wait, as tokens of a subject.
const (
	waitRetry = "retry"
	waitHold  = "hold"
)

// names gives everything of the driver's own its name.
type names struct{ ns string }

func (n names) workStream() string   { return strings.ReplaceAll(n.ns, ".", "_") + "-work" }
func (n names) parkedStream() string { return strings.ReplaceAll(n.ns, ".", "_") + "-parked" }

func (n names) back(s source) string   { return n.ns + ".back." + s.stream + "." + s.consumer }
func (n names) parked(s source) string { return n.ns + ".parked." + s.stream + "." + s.consumer }

func (n names) wait(s source, kind, id string) string {
	return n.ns + ".wait." + s.stream + "." + s.consumer + "." + kind + "." + id
}

func (n names) workSubjects() []string   { return []string{n.ns + ".wait.>", n.ns + ".back.>"} }
func (n names) parkedSubjects() []string { return []string{n.ns + ".parked.>"} }
