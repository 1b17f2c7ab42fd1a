package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// mayAll proves before the first message that the session may publish all that
// it will publish: each subject is used once, in a way that changes nothing.
// What looks the source up and makes the places is proven by having been done.
func (c *conn) mayAll(ctx context.Context, n names, f found) error {
	probes := c.probes(n, f)
	answers := make(chan error, len(probes))
	for _, m := range probes {
		c.calls.ask(m, c.call, func(_ *nats.Msg, err error) { answers <- err })
	}
	var errs []error
	for range probes {
		select {
		case err := <-answers:
			errs = append(errs, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := errors.Join(errs...)
	if errors.Is(err, broker.ErrPermission) {
		err = fmt.Errorf("%w; %s", err, permissionsPage)
	}
	return classify("look whether all is permitted", err)
}

func (c *conn) probes(n names, f found) []letter {
	back := source{n.workStream(), f.backConsumer()}
	list := []letter{
		askBadly(f.source), askBadly(back), progressOfNothing(f.source), progressOfNothing(back),
		elsewhere(n.parked(f.source)), elsewhere(n.back(f.source)), elsewhere(n.wait(f.source, waitRetry, "probe")),
	}
	if !f.transient {
		list = append(list, elsewhere(n.wait(f.source, waitHold, "probe")))
	}
	return list
}

// elsewhere is a message that a stream refuses, since it expects another.
func elsewhere(subject string) letter {
	return &nats.Msg{Subject: subject, Header: nats.Header{headerExpectStream: {"-"}}}
}

// askBadly is a pull request that cannot be read and brings nothing.
func askBadly(s source) letter {
	return &nats.Msg{Subject: nextSubject(s), Data: []byte("{")}
}

func nextSubject(s source) string {
	return apiPrefix + "CONSUMER.MSG.NEXT." + s.stream + "." + s.consumer
}

// progressOfNothing tells a consumer of work on a message that it has not.
func progressOfNothing(s source) letter {
	return &nats.Msg{Subject: ackSubject(s, math.MaxInt64), Data: ackProgress}
}

// ackSubject is where a consumer hears of the message at a sequence of its
// stream, whatever delivery that was.
func ackSubject(s source, seq int64) string {
	return fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", s.stream, s.consumer, seq)
}

// mayHear waits until the server has taken a subscription, and returns its
// refusal. The client keeps the last error before it takes the answer to a
// flush.
func (c *conn) mayHear(ctx context.Context, subject string) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	err := c.nc.LastError()
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `Subscription to "`+subject+`"`) {
		return fmt.Errorf("jetstream: %w: %w; %s", broker.ErrPermission, err, permissionsPage)
	}
	return nil
}
