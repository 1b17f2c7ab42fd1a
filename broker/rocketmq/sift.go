package rocketmq

import (
	"context"
	"encoding/json"

	"github.com/holdfast-mq/holdfast/broker"
)

// Depth implements [broker.Sifter]. For a source it counts what was not handed
// out yet, and as consumers the clients of the group.
func (b *Broker) Depth(ctx context.Context, queue string) (d broker.Depth, err error) {
	p, err := parsePlace(queue)
	if err != nil {
		return broker.Depth{}, err
	}
	runs, err := b.shelves(ctx, p)
	if err != nil {
		return broker.Depth{}, err
	}
	all := b.marksOf(p)
	for i := range runs {
		run := &runs[i]
		k, err := all.at(ctx, run.site)
		if err != nil {
			return broker.Depth{}, err
		}
		gone, err := k.count(ctx, run)
		if err != nil {
			return broker.Depth{}, err
		}
		d.Messages += int(max(run.to-run.from, 0)) - gone
	}
	if p.topic == "" {
		d.Consumers, err = b.consumers(ctx, p.source)
	}
	return d, err
}

// consumers counts the clients of a group on all brokers: each is connected to
// every one of them.
func (b *Broker) consumers(ctx context.Context, s source) (int, error) {
	sites, _, err := b.cluster.sites(ctx, s.topic)
	if err != nil {
		return 0, err
	}
	clients := map[string]bool{}
	for _, at := range sites {
		a, err := at.conn.wait(ctx, command{code: askConnections, fields: map[string]string{"consumerGroup": s.group}})
		if codeOf(err) == codeNotOnline {
			continue
		}
		if err != nil {
			return 0, classify("count the consumers of group "+s.group, err)
		}
		var list struct {
			ConnectionSet []struct {
				ClientID string `json:"clientId"`
			} `json:"connectionSet"`
		}
		if err := json.Unmarshal(a.body, &list); err != nil {
			return 0, classify("count the consumers of group "+s.group, err)
		}
		for _, c := range list.ConnectionSet {
			clients[c.ClientID] = true
		}
	}
	return len(clients), nil
}

// placeMarks are the marks of a place, broker by broker. A source has none:
// nothing is removed from it.
type placeMarks struct {
	topic  string
	bySite map[*site]*marks
}

func (b *Broker) marksOf(p place) *placeMarks {
	m := &placeMarks{bySite: map[*site]*marks{}}
	if p.topic != "" {
		m.topic = b.names.gone(p.topic)
	}
	return m
}

// at returns the marks on a broker, read on the first call.
func (p *placeMarks) at(ctx context.Context, at *site) (*marks, error) {
	if k := p.bySite[at]; k != nil {
		return k, nil
	}
	k := newMarks(at, p.topic)
	p.bySite[at] = k
	if p.topic == "" {
		return k, nil
	}
	return k, k.read(ctx)
}

// Sift implements [broker.Sifter]. Looking costs nothing and changes nothing:
// messages are read by their offset, not consumed. Nothing can be removed from
// a source, which others read too.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	p, err := parsePlace(queue)
	if err != nil {
		return broker.Sifted{}, err
	}
	runs, err := b.shelves(ctx, p)
	if err != nil {
		return broker.Sifted{}, err
	}
	s := &sift{broker: b, queue: queue, place: p, opts: opts, pick: pick, marks: b.marksOf(p)}
	for i := range runs {
		if over, err := s.through(ctx, &runs[i]); over || err != nil {
			return s.sum, err
		}
	}
	return s.sum, nil
}

// sift is one going-through.
type sift struct {
	broker *Broker
	queue  string
	place  place
	opts   broker.SiftOptions
	pick   func(context.Context, *broker.Stored) (broker.Action, error)
	marks  *placeMarks
	proven proven
	sum    broker.Sifted
}

// through asks about each message of a shelf, and reports whether the sift is
// over.
func (s *sift) through(ctx context.Context, run *shelf) (over bool, err error) {
	k, err := s.marks.at(ctx, run.site)
	if err != nil {
		return true, err
	}
	return run.each(ctx, func(m *record) (bool, error) {
		switch {
		case s.opts.Limit > 0 && s.sum.Seen >= s.opts.Limit:
			return true, nil
		case k.gone[mark{m.physical, m.queue}]:
			return false, nil
		case ctx.Err() != nil:
			return true, ctx.Err()
		}
		action, err := s.pick(ctx, s.stored(m))
		s.sum.Seen++
		err = s.carryOut(context.WithoutCancel(ctx), k, m, action, err)
		if s.opts.Settled != nil {
			s.opts.Settled(s.sum)
		}
		return action.Verb == broker.VerbStop, err
	})
}

// stored is a message as one who looks sees it.
func (s *sift) stored(m *record) *broker.Stored {
	out := m.message()
	c, err := m.properties.capture("")
	out.Origin = m.origin(c, s.place.source)
	if s.place.topic != "" && c == nil {
		out.Origin.Queue = ""
	}
	dead := deadLettered(m.topic)
	if topic := m.deadTopic(); dead != "" && topic != "" && c == nil {
		out.Origin.Exchange = topic
	}
	if c != nil {
		out.Attempt, out.Lap = c.Attempt, c.Lap
	}
	return &broker.Stored{Message: &out, Queue: s.queue, Position: s.sum.Seen, Capture: c, CaptureErr: err, DeadLettered: dead}
}

// carryOut does what pick said and counts it; an original that stays is kept,
// whatever the reason. What was begun is not cut off, but bounded by each
// request's own time.
func (s *sift) carryOut(ctx context.Context, k *marks, m *record, a broker.Action, err error) error {
	count := &s.sum.Kept
	if err == nil {
		switch a.Verb {
		case broker.VerbCopy:
			count, err = &s.sum.Copied, s.copy(ctx, k, m, a)
		case broker.VerbReply:
			err = unsupported("a reply")
		case broker.VerbDrop:
			count, err = &s.sum.Dropped, s.remove(ctx, k, m)
		}
	}
	if err != nil {
		count = &s.sum.Kept
	}
	*count++
	return err
}

func (s *sift) remove(ctx context.Context, k *marks, m *record) error {
	if s.place.topic == "" {
		return unsupported("to remove a message from topic %s, which others read too: consume it", s.place.source.topic)
	}
	return k.remove(ctx, m)
}

// copy publishes a copy and removes the original once the copy is stored.
func (s *sift) copy(ctx context.Context, k *marks, m *record, a broker.Action) error {
	if s.place.topic == "" {
		return s.remove(ctx, k, m)
	}
	want := keeping
	if a.Fresh {
		want = fresh
	}
	out := copied(m, want)
	for name, v := range a.Stamp {
		out.properties.set(name, v)
	}
	to, err := s.proven.target(ctx, s.broker, k.site.name, a.Target)
	if err != nil {
		return err
	}
	if a.Target.Queue != "" {
		from := s.stored(m).Message.Origin
		if a.Target.Key != "" {
			from.Key = a.Target.Key
		}
		out.from(from)
	} else if a.Target.Key != "" {
		out.properties.set(propertyTags, a.Target.Key)
	}
	if err := to.conn.publish(ctx, out, to.topic, to.queue); err != nil {
		return err
	}
	return k.remove(ctx, m)
}
