package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// The statuses by which a server ends a pull.
const (
	statusIdle       = "100" // it goes on
	statusBadRequest = "400"
	statusNone       = "404" // nothing is there, and it was not to wait
	statusTimeout    = "408"
	statusConflict   = "409" // in words: what happened to the consumer
	statusNobody     = "503" // there is no such consumer, or no JetStream
)

// breath is the pause after a pull that ended in a way that may repeat.
const breath = 100 * time.Millisecond

// pullEnd is how a pull ended before it had brought all that it asked for.
type pullEnd struct {
	number uint64
	status string
	words  string
}

// whole looks again at a consumer that seems to leave the bodies out: its owner
// may have changed it under way, and a copy without its body would be a loss.
// When it does, the session is over and the message given back. A producer can
// send such a header, too.
func (p *pulls) whole(m *nats.Msg) bool {
	ctx, cancel := context.WithTimeout(context.Background(), p.session.conn.call)
	defer cancel()
	err := p.session.Probe(ctx)
	if err != nil {
		p.session.end(err)
		_ = p.session.conn.nc.Publish(m.Reply, ackNak) // else the ack wait does it
	}
	return err == nil
}

// judge says whether the session can go on after a pull that ended so.
func (p *pulls) judge(from flow, e pullEnd) error {
	words := strings.ToLower(e.words)
	switch {
	case e.status == statusNone, e.status == statusTimeout:
		return nil
	case e.status == statusBadRequest:
		return fmt.Errorf("jetstream: pull: %w: %s", broker.ErrConfig, e.words)
	case e.status == statusConflict && strings.Contains(words, "deleted"):
		return fmt.Errorf("jetstream: consumer %v was deleted: %w", p.session.source.source, broker.ErrDetached)
	case e.status == statusConflict && isOver(words):
		return fmt.Errorf("jetstream: consumer %v: %s: %w", p.session.source.source, e.words, broker.ErrDetached)
	case e.status == statusNobody:
		return p.missing(from)
	}
	// A leader that changes, too many requests of others: it passes.
	p.rest()
	return nil
}

// isOver reports whether a conflict will not pass while the session lives: its
// owner has changed the consumer, or the server goes away.
func isOver(words string) bool {
	for _, said := range []string{"push based", "exceeded maxrequest", "shutdown"} {
		if strings.Contains(words, said) {
			return true
		}
	}
	return false
}

// missing finds out why nobody answers a pull.
func (p *pulls) missing(from flow) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.session.conn.call)
	defer cancel()
	err := p.session.Probe(ctx)
	if err == nil && from == flowBack {
		_, err = p.session.conn.consumerInfo(ctx, source{p.session.names().workStream(), p.session.source.backConsumer()})
	}
	switch {
	case errors.Is(err, broker.ErrMissing), errors.Is(err, broker.ErrDetached):
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	case err != nil:
		return err
	}
	p.rest()
	return nil
}

func (p *pulls) rest() {
	select {
	case <-time.After(breath):
	case <-p.stop:
	}
}
