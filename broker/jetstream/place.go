package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// place is where messages of a source wait.
type place struct {
	source
	kind placeKind
}

type placeKind uint8

const (
	placeSource placeKind = iota
	placeParked
	placeHold
)

// parsePlace reads the name of a place: of a queue, or of what belongs to one.
func parsePlace(name string) (place, bool) {
	p := place{kind: placeSource}
	if queue, ok := strings.CutSuffix(name, parkedSuffix); ok {
		name, p.kind = queue, placeParked
	} else if queue, ok := strings.CutSuffix(name, holdSuffix); ok {
		name, p.kind = queue, placeHold
	}
	s, err := parseSource(name)
	p.source = s
	return p, err == nil
}

func missing(name string) error {
	return fmt.Errorf("jetstream: there is no queue %.100q: %w", name, broker.ErrMissing)
}

// subject is where a copy for p is published, and which stream has it.
func (p place) subject(n names) (subject, stream string) {
	switch p.kind {
	case placeParked:
		return n.parked(p.source), n.parkedStream()
	default:
		return n.back(p.source), n.workStream()
	}
}

// takes refuses a copy for a place where nobody would find it.
func (p place) takes(ctx context.Context, b *Broker, c *conn) error {
	if p.kind == placeHold {
		return unsupported("a copy into a hold")
	}
	f, err := c.find(ctx, p.source)
	if errors.Is(err, broker.ErrMissing) {
		return fmt.Errorf("jetstream: there is no consumer %v: %w", p.source, broker.ErrUnrouted)
	}
	if err != nil || p.kind != placeSource {
		return err
	}
	return c.ensure(ctx, b.names, f, b.conf.Replicas)
}

// keepsSubject refuses a copy for a stream that would not keep it. A stream
// with interest retention confirms what no consumer of it wants, and drops it.
func (c *conn) keepsSubject(ctx context.Context, name, subject string) error {
	stream, err := c.stream(ctx, name)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return fmt.Errorf("jetstream: there is no stream %s: %w", name, broker.ErrUnrouted)
	case err != nil:
		return err
	case stream.CachedInfo().Config.Retention != jetstream.InterestPolicy:
		return nil
	}
	wanted, err := request(ctx, c, "consumers of "+name, "CONSUMER.LIST."+name, func(ctx context.Context) (wanted bool, err error) {
		list := stream.ListConsumers(ctx)
		for info := range list.Info() {
			wanted = wanted || wants(info.Config, subject)
		}
		return wanted, list.Err()
	})
	if err == nil && !wanted {
		err = fmt.Errorf("jetstream: no consumer of stream %s takes %s, and the stream keeps nothing else: %w", name, subject, broker.ErrUnrouted)
	}
	return err
}

func wants(cfg jetstream.ConsumerConfig, subject string) bool {
	if cfg.FilterSubject == "" && len(cfg.FilterSubjects) == 0 {
		return true
	}
	return matchesAny(append(cfg.FilterSubjects, cfg.FilterSubject), subject)
}

// shelf is a run of messages in one stream: those of some subjects, from one
// sequence to another.
type shelf struct {
	conn   *conn
	stream jetstream.Stream
	filter string // a subject, with wildcards; "" for all
	also   []string
	from   uint64
	to     uint64
	take   bool // a message may be removed from the stream
}

// shelves are where the messages of p lie, in the order of their delivery.
func (p place) shelves(ctx context.Context, n names, c *conn) ([]*shelf, error) {
	switch p.kind {
	case placeParked:
		return p.own(ctx, c, n.parkedStream(), n.parked(p.source))
	case placeHold:
		return p.own(ctx, c, n.workStream(), n.wait(p.source, waitHold, "*"))
	}
	fresh, err := c.undelivered(ctx, p.source)
	if err != nil {
		return nil, err
	}
	back, err := c.undelivered(ctx, source{n.workStream(), p.backConsumer()})
	switch {
	case errors.Is(err, broker.ErrMissing):
		return []*shelf{fresh}, nil // nothing ever came back
	case err != nil:
		return nil, err
	}
	return []*shelf{back, fresh}, nil
}

// own is a place in a stream of ours. Before anything was put there, it exists
// as soon as its source does.
func (p place) own(ctx context.Context, c *conn, stream, subject string) ([]*shelf, error) {
	s, err := c.stream(ctx, stream)
	if errors.Is(err, broker.ErrMissing) {
		_, err = c.find(ctx, p.source)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	run := &shelf{conn: c, stream: s, filter: subject, from: 1, to: s.CachedInfo().State.LastSeq, take: true}
	if m, err := run.next(ctx, 0); err != nil || m != nil {
		return []*shelf{run}, err
	}
	_, err = c.find(ctx, p.source)
	return nil, err
}
