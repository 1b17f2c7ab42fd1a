package awssqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// maxBatch is how many messages one call of SQS takes.
const maxBatch = 10

// results are the outcomes of a batch, one for each entry, so that no entry's
// failure hides another's success.
type results []error

var errNoResult = fmt.Errorf("awssqs: the answer to a batch says nothing of this entry: %w", broker.ErrUnknown)

func newResults(n int) results {
	r := make(results, n)
	for i := range r {
		r[i] = errNoResult
	}
	return r
}

func (r results) set(id *string, err error) {
	if i, bad := strconv.Atoi(aws.ToString(id)); bad == nil && i >= 0 && i < len(r) {
		r[i] = err
	}
}

func (r results) succeeded(id *string) { r.set(id, nil) }

func (r results) failed(list []types.BatchResultErrorEntry) {
	for _, f := range list {
		r.set(f.Id, entryError(f))
	}
}

// entryError is of a class that says that SQS did not do it.
func entryError(f types.BatchResultErrorEntry) error {
	code := aws.ToString(f.Code)
	class := classes[code]
	if class == nil {
		class = broker.ErrRefused
	}
	return fmt.Errorf("awssqs: %w: %s: %s", class, code, aws.ToString(f.Message))
}

// all is the outcome of each entry, after an error of the call as a whole.
func (r results) all(err error) []error {
	if err != nil {
		for i := range r {
			r[i] = err
		}
	}
	return r
}

// store sends up to ten messages, with a result for each: [broker.ErrUnrouted],
// [broker.ErrRefused] or [broker.ErrUnknown].
func (c *client) store(ctx context.Context, url string, list []*outgoing) []error {
	in := &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{}}
	fifo := isFIFO(url)
	for i, o := range list {
		entry := types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(o.body), MessageAttributes: o.attributes,
			MessageGroupId: optional(o.group), MessageSystemAttributes: o.systemAttributes(),
		}
		if fifo {
			entry.MessageDeduplicationId = optional(o.dedup)
		}
		in.Entries = append(in.Entries, entry)
	}
	r := newResults(len(list))
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	out, err := c.api.SendMessageBatch(ctx, in)
	if err != nil {
		return r.all(storing(url, err))
	}
	for _, ok := range out.Successful {
		r.succeeded(ok.Id)
	}
	for _, f := range out.Failed {
		r.set(f.Id, notStored(f))
	}
	return r
}

func notStored(f types.BatchResultErrorEntry) error {
	err := entryError(f)
	switch {
	case errors.Is(err, broker.ErrMissing): // some emulators say so of each entry
		return fmt.Errorf("%w: %w", broker.ErrUnrouted, err)
	case errors.Is(err, broker.ErrRefused):
		return err
	}
	return fmt.Errorf("%w: %w", broker.ErrRefused, err)
}

// maySend asks whether copies may be sent to a queue, without sending one: an
// empty batch is refused in any case, and for a missing grant where that is
// the reason.
func (c *client) maySend(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	_, err := c.api.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{}})
	if err = classify("send to "+nameOf(url), "SendMessage", err); errors.Is(err, broker.ErrPermission) {
		return err
	}
	return nil
}
