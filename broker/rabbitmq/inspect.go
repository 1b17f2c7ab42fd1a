package rabbitmq

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// slowAnswer is how long the answer takes that is none: a broker that
	// cannot ask a quorum queue within 250 ms says that it is empty and that
	// nobody consumes it.
	slowAnswer = 200 * time.Millisecond

	// maxAnswers is how often such an answer is not believed.
	maxAnswers = 5
)

// inspect asks for a queue's depth on a channel of its own, which a missing
// queue closes.
func inspect(ctx context.Context, c *conn, queue string) (amqp.Queue, error) {
	ch, err := openChannel(ctx, c)
	if err != nil {
		return amqp.Queue{}, err
	}
	for answers := 1; ; answers++ {
		asked := time.Now()
		q, err := call(ctx, c, func() (amqp.Queue, error) {
			return ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		})
		if err != nil {
			return amqp.Queue{}, refusedRequest(fmt.Sprintf("queue %q", queue), nil, err)
		}
		doubtful := q.Messages == 0 && q.Consumers == 0 && time.Since(asked) > slowAnswer
		if !doubtful || answers == maxAnswers {
			return q, closeChannel(ctx, c, ch)
		}
	}
}
