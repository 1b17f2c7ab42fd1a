package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	source = "orders"

	fillWindow = 1_000
	verifyTime = 3 * time.Second
	verifyStep = 20 * time.Millisecond
)

// dial connects as the driver does: the same frame size, heartbeat and locale.
func dial(ctx context.Context, url string) (*amqp.Connection, error) {
	conn, err := amqp.DialConfig(url, amqp.Config{Heartbeat: 10 * time.Second, FrameSize: 131072, Locale: "en_US"})
	if err != nil {
		return nil, err
	}
	// The client's calls know no context: an interrupt ends them here.
	context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) })
	return conn, nil
}

func versionOf(conn *amqp.Connection) string {
	version, _ := conn.Properties["version"].(string)
	return version
}

// house is the bench's own access to the broker: it fills queues and counts.
type house struct {
	conn *amqp.Connection
	ch   *amqp.Channel
}

func openHouse(ctx context.Context, url string) (*house, error) {
	conn, err := dial(ctx, url)
	if err != nil {
		return nil, err
	}
	h := &house{conn: conn}
	if h.ch, err = conn.Channel(); err == nil {
		err = h.ch.Confirm(false)
	}
	if err == nil {
		_, err = h.ch.QueueDeclare(source, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *house) close() { _ = h.conn.Close() }

// fill publishes n messages to the source and returns when the broker has
// them all.
func (h *house) fill(ctx context.Context, n int) error {
	body := make([]byte, bodySize)
	waiting := make([]*amqp.DeferredConfirmation, 0, fillWindow)
	for i := range n {
		c, err := h.ch.PublishWithDeferredConfirm("", source, true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, MessageId: strconv.Itoa(i), Body: body,
		})
		if err != nil {
			return err
		}
		if waiting = append(waiting, c); len(waiting) < fillWindow && i < n-1 {
			continue
		}
		for _, c := range waiting {
			if stored, err := c.WaitContext(ctx); err != nil || !stored {
				return fmt.Errorf("a message was not confirmed: %w", orElse(err, amqp.ErrClosed))
			}
		}
		waiting = waiting[:0]
	}
	return nil
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// verify finds what was not acknowledged in the source: it would be back by
// now.
func (h *house) verify(ctx context.Context, p contestant, total int) error {
	if err := h.await(ctx, source, 0); err != nil {
		return err
	}
	if p.copies == "" {
		return nil
	}
	return h.await(ctx, p.copies, total)
}

var errIncomplete = errors.New("the run does not count")

// await polls, since a quorum queue may tell an older count for a moment.
func (h *house) await(ctx context.Context, queue string, want int) error {
	deadline := time.Now().Add(verifyTime)
	for {
		q, err := h.ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			return err
		}
		if q.Messages == want {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("queue %s has %d messages and should have %d: %w", queue, q.Messages, want, errIncomplete)
		}
		sleep(ctx, verifyStep)
	}
}
