package jetstream_test

import (
	"strings"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
)

// notices collects what a session tells.
type notices struct {
	mu  sync.Mutex
	all []broker.Notice
}

func (n *notices) add(x broker.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, x)
}

func (n *notices) of(kind broker.NoticeKind) (texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind == kind {
			texts = append(texts, x.Text)
		}
	}
	return texts
}

// warned reports whether a warning said all of the words.
func (n *notices) warned(words ...string) bool {
	for _, text := range n.of(broker.NoticeWarning) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			return true
		}
	}
	return false
}

// sessionTelling is a session whose notices are collected.
func (p *place) sessionTelling(b broker.Broker, sub broker.Subscription) (broker.Session, *notices) {
	p.Helper()
	var told notices
	sub.Notify = told.add
	s, err := b.Open(p.ctx(), sub)
	p.must(err)
	p.Cleanup(func() { _ = s.Close(p.ctx()) })
	return s, &told
}
