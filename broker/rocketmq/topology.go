package rocketmq

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// found is a source as its brokers have it.
type found struct {
	source
	sites    []*site
	warnings []string
	settings settings
}

// find looks for the source on all its brokers.
func (b *Broker) find(ctx context.Context, s source) (found, error) {
	sites, faults, err := b.cluster.sites(ctx, s.topic)
	if err != nil {
		return found{}, err
	}
	f := found{source: s, sites: sites}
	for _, fault := range faults {
		f.warnings = append(f.warnings, fmt.Sprintf("queue %v is not consumed on all its brokers: %s", s, fault))
	}
	for _, at := range sites {
		if _, err := at.conn.topicQueues(ctx, s.topic); err != nil {
			return found{}, classify(fmt.Sprintf("find topic %s on broker %s", s.topic, at.name), err)
		}
		if err := at.conn.findGroup(ctx, s.group); err != nil {
			return found{}, classify(fmt.Sprintf("find consumer group %s on broker %s", s.group, at.name), err)
		}
	}
	f.settings, err = sites[0].conn.settings(ctx)
	return f, err
}

// ensure makes what the failure path needs on each broker.
func (f *found) ensure(ctx context.Context, n names) error {
	for _, at := range f.sites {
		for _, topic := range []string{n.parked(f.source), f.returns()} {
			if err := at.ensureTopic(ctx, topic); err != nil {
				return err
			}
		}
		if f.settings.newRetryTopics {
			continue // the group itself is looked up
		}
		err := at.conn.findGroup(ctx, f.admits())
		if codeOf(err) == codeNoGroup {
			err = at.conn.createIdleGroup(ctx, f.admits())
		}
		if err != nil {
			return declared("group "+f.admits(), at, err)
		}
	}
	return nil
}

func (a *site) ensureTopic(ctx context.Context, topic string) error {
	_, err := a.conn.topicQueues(ctx, topic)
	if codeOf(err) == codeNoTopic {
		err = a.conn.createTopic(ctx, topic)
	}
	if err != nil {
		return declared("topic "+topic, a, err)
	}
	return nil
}

func declared(what string, at *site, err error) error {
	text := fmt.Sprintf("declare %s on broker %s", what, at.name)
	if codeOf(err) == codeNoPermission {
		text += " (grant CREATE and GET on it, or let an operator make it)"
	}
	return classify(text, err)
}

// returns is the topic from which the group gets its messages again.
func (f *found) returns() string {
	if f.settings.newRetryTopics {
		return f.backNew()
	}
	return f.back()
}

// gone reports that the source is not what it was.
func (b *Broker) gone(ctx context.Context, f found) error {
	for _, at := range f.sites {
		_, err := at.conn.topicQueues(ctx, f.topic)
		if err == nil {
			err = at.conn.findGroup(ctx, f.group)
		}
		switch codeOf(err) {
		case codeNoTopic, codeNoGroup:
			return fmt.Errorf("rocketmq: queue %v is gone from broker %s: %w: %w", f.source, at.name, broker.ErrDetached, err)
		}
		if err != nil {
			return classify("probe", err)
		}
	}
	return nil
}
