package rocketmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// RocketMQ removes no message from a topic. What an operator has removed from a
// place is told by marks in a topic beside it, on the same broker: a mark is
// confirmed as any message, is younger than what it marks, and so is never
// gone before it.

// mark says that a message was removed.
type mark struct {
	// Physical is where the broker's log has the message. It never has another
	// there, also not after a topic was deleted and made again.
	Physical int64 `json:"physical"`
	Queue    int   `json:"queue"`
}

// marks are those of one place on one broker.
type marks struct {
	site  *site
	topic string
	next  int64 // the first that was not read
	there bool  // the topic is known to exist
	gone  map[mark]bool
}

func newMarks(at *site, topic string) *marks {
	return &marks{site: at, topic: topic, gone: map[mark]bool{}}
}

// read reads the marks that are new.
func (k *marks) read(ctx context.Context) error {
	if !k.there {
		_, err := k.site.conn.topicQueues(ctx, k.topic)
		if codeOf(err) == codeNoTopic {
			return nil // nothing was removed yet
		}
		if err != nil {
			return classify("read topic "+k.topic, err)
		}
		k.there = true
	}
	end, err := k.site.conn.offset(ctx, askMaxOffset, k.topic, 0)
	if err != nil {
		return classify("read topic "+k.topic, err)
	}
	run := shelf{site: k.site, topic: k.topic, from: k.next, to: end}
	_, err = run.each(ctx, func(m *record) (bool, error) {
		var made mark
		if json.Unmarshal(m.body, &made) == nil {
			k.gone[made] = true
		}
		return false, nil
	})
	if err == nil {
		k.next = max(k.next, end)
	}
	return err
}

// remove marks a message, and returns when whoever reads the marks sees it.
func (k *marks) remove(ctx context.Context, m *record) error {
	if !k.there {
		if err := k.site.ensureTopic(ctx, k.topic); err != nil {
			return err
		}
		k.there = true
	}
	made := mark{m.physical, m.queue}
	body, err := json.Marshal(made)
	if err != nil {
		return err
	}
	if err := k.site.conn.publish(ctx, letter{body: body, born: time.Now().UnixMilli(), properties: properties{}}, k.topic, 0); err != nil {
		return fmt.Errorf("rocketmq: to mark a message as removed: %w", err)
	}
	return k.awaitRead(ctx, made)
}

// awaitRead waits for a mark: a broker shows what it has stored a moment later.
func (k *marks) awaitRead(ctx context.Context, made mark) error {
	ctx, cancel := context.WithTimeout(ctx, k.site.conn.call)
	defer cancel()
	for {
		if err := k.read(ctx); err != nil || k.gone[made] {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return errors.Join(broker.ErrUnknown, ctx.Err())
		}
	}
}

// count is how many messages of a shelf are marked. Marks older than the first
// message that is still there were made for messages that the broker has
// dropped.
func (k *marks) count(ctx context.Context, s *shelf) (n int, err error) {
	if len(k.gone) == 0 {
		return 0, nil
	}
	first, err := s.first(ctx)
	if first == nil || err != nil {
		return 0, err
	}
	for m := range k.gone {
		if m.Queue == s.queue && m.Physical >= first.physical {
			n++
		}
	}
	return n, nil
}
