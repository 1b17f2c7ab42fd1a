package gcppubsub

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// The suffixes of a source's places.
const (
	parkedSuffix = "-parked"
	holdSuffix   = "-hold"
	retrySuffix  = "-retry"
	backSuffix   = "-back"
)

const (
	// minID and maxID bound the ids of topics and subscriptions.
	minID, maxID = 3, 255

	longestSuffix = len(parkedSuffix)
)

// source is a queue: a subscription.
type source struct {
	queue string // as captures name it
	path  string // its full name
	base  string // what the ids of its places begin with
}

// place is a topic of ours and the subscription of the same id that keeps what
// is published to it.
type place struct{ project, id string }

func (p place) topic() string        { return "projects/" + p.project + "/topics/" + p.id }
func (p place) subscription() string { return "projects/" + p.project + "/subscriptions/" + p.id }

// names gives everything of the driver's own its name.
type names struct{ project, namespace string }

// source reads the name of a queue. One that is in our project has its id for
// a name, however it was written, so that a capture knows its own queue.
func (n names) source(queue string) (source, error) {
	project, id := n.project, queue
	if rest, ok := strings.CutPrefix(queue, "projects/"); ok {
		project, id, _ = strings.Cut(rest, "/subscriptions/")
	}
	if project == "" || strings.Contains(project, "/") || !validID(id) || len(id) < minID || len(id) > maxID {
		return source{}, fmt.Errorf("%w: gcppubsub: a queue is a subscription's id, or projects/P/subscriptions/S, not %.200q", broker.ErrConfig, queue)
	}
	s := source{queue: id, base: id, path: "projects/" + project + "/subscriptions/" + id}
	if project != n.project {
		s.queue, s.base = s.path, strings.ReplaceAll(project, ":", ".")+"-"+id
	}
	if n.namespace != "" {
		s.base = n.namespace + "-" + s.base
	}
	if len(s.base)+longestSuffix > maxID {
		return source{}, fmt.Errorf("%w: gcppubsub: the ids of the places of %.100q would have more than %d bytes", broker.ErrConfig, queue, maxID)
	}
	return s, nil
}

func (n names) place(s source, suffix string) place { return place{n.project, s.base + suffix} }

// topic is the full name of a topic that is given by its id, or as it is.
func (n names) topic(name string) string {
	if strings.HasPrefix(name, "projects/") {
		return name
	}
	return "projects/" + n.project + "/topics/" + name
}

// shortTopic is the id of a topic of our project, and else its full name.
func (n names) shortTopic(path string) string {
	return strings.TrimPrefix(path, "projects/"+n.project+"/topics/")
}

// validID is what Pub/Sub takes as an id, lengths aside.
func validID(id string) bool {
	if id == "" || strings.HasPrefix(id, "goog") {
		return false
	}
	for i, r := range id {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_.~+%", r)) {
			return false
		}
	}
	return true
}
