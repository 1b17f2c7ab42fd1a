package rocketmq

import (
	"context"
)

// shelf is a run of messages in one queue of a topic.
type shelf struct {
	site     *site
	topic    string
	queue    int
	from, to int64
}

// shelves are what waits in a place now.
func (b *Broker) shelves(ctx context.Context, p place) ([]shelf, error) {
	switch {
	case p.held:
		return nil, unsupported("to look at held messages: they wait in the broker's timer, and come back by themselves")
	case p.topic != "":
		return b.topicShelves(ctx, p.topic)
	}
	return b.sourceShelves(ctx, p.source)
}

func (b *Broker) topicShelves(ctx context.Context, topic string) (list []shelf, err error) {
	sites, _, err := b.cluster.sites(ctx, topic)
	if err != nil {
		return nil, err
	}
	for _, at := range sites {
		for queue := range at.queues {
			s := shelf{site: at, topic: topic, queue: queue}
			if s.from, err = at.conn.offset(ctx, askMinOffset, topic, queue); err == nil {
				s.to, err = at.conn.offset(ctx, askMaxOffset, topic, queue)
			}
			if err != nil {
				return nil, classify("count topic "+topic, err)
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// sourceShelves is what the group was not given yet. What it was given and has
// not settled, and what waits on a rung, is not among it.
func (b *Broker) sourceShelves(ctx context.Context, s source) (list []shelf, err error) {
	sites, _, err := b.cluster.sites(ctx, s.topic)
	if err != nil {
		return nil, err
	}
	for _, at := range sites {
		if err := at.conn.findGroup(ctx, s.group); err != nil {
			return nil, classify("find consumer group "+s.group, err)
		}
		for _, topic := range []string{s.topic, s.back(), s.backNew()} {
			queues, err := at.conn.topicQueues(ctx, topic)
			if codeOf(err) == codeNoTopic && topic != s.topic {
				continue // nothing came back yet
			}
			if err != nil {
				return nil, classify("count topic "+topic, err)
			}
			for queue := range queues {
				run := shelf{site: at, topic: topic, queue: queue}
				if run.from, err = at.conn.committed(ctx, s.group, topic, queue); err == nil {
					run.to, err = at.conn.offset(ctx, askMaxOffset, topic, queue)
				}
				if err != nil {
					return nil, classify("count topic "+topic, err)
				}
				list = append(list, run)
			}
		}
	}
	return list, nil
}

// each calls do with each message of the shelf until do is content.
func (s *shelf) each(ctx context.Context, do func(*record) (over bool, err error)) (over bool, err error) {
	for offset := s.from; offset < s.to; {
		list, next, err := s.site.conn.pull(ctx, s.topic, s.queue, offset)
		if err != nil {
			return true, classify("read topic "+s.topic, err)
		}
		for i := range list {
			if list[i].offset >= s.to {
				return false, nil
			}
			if over, err := do(&list[i]); over || err != nil {
				return true, err
			}
		}
		if next <= offset {
			return false, nil // it ends sooner than it said
		}
		offset = next
	}
	return false, nil
}

// first is the oldest message of the shelf, or nil.
func (s *shelf) first(ctx context.Context) (found *record, err error) {
	_, err = s.each(ctx, func(m *record) (bool, error) {
		found = m
		return true, nil
	})
	return found, err
}
