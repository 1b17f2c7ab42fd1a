package awssqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	attrFIFO      = string(types.QueueAttributeNameFifoQueue)
	attrRetention = string(types.QueueAttributeNameMessageRetentionPeriod)
	attrLargest   = string(types.QueueAttributeNameMaximumMessageSize)
	attrRedrive   = string(types.QueueAttributeNameRedrivePolicy)
	attrCreated   = string(types.QueueAttributeNameCreatedTimestamp)
	attrKey       = string(types.QueueAttributeNameKmsMasterKeyId)
	attrKeyReuse  = string(types.QueueAttributeNameKmsDataKeyReusePeriodSeconds)

	// longest is the longest that SQS keeps a message.
	longestKept = 14 * 24 * 60 * 60
)

// found is what a session must know of its source.
type found struct {
	queue    string // as the consumer names it
	url      string
	fifo     bool
	created  string            // tells this queue from an earlier one of its name; empty where we may not ask
	limit    int               // maxReceiveCount; 0 for none
	key      map[string]string // how it is encrypted
	warnings []string
}

func (f *found) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// find reads the source. It changes nothing, and a grant that only knowledge
// depends on is a warning.
func (b *Broker) find(ctx context.Context, queue string) (found, error) {
	f := found{queue: queue, fifo: isFIFO(queue)}
	var err error
	if f.url, err = b.urlOf(ctx, queue); err != nil {
		return found{}, err
	}
	a, err := b.client.attributes(ctx, f.url)
	switch {
	case errors.Is(err, broker.ErrPermission):
		f.warn("queue %s may not be looked at: a redrive policy that acts before the budget is not seen, and the queues beside it get no key of its own; allow sqs:GetQueueAttributes on it",
			nameOf(queue))
		return f, nil
	case err != nil:
		return found{}, err
	}
	f.created, f.limit, f.key = a[attrCreated], redriveLimit(a[attrRedrive]), encryption(a)
	return f, nil
}

// redriveLimit is after how many deliveries SQS moves a message away by
// itself. The number comes as such or as a text.
func redriveLimit(policy string) int {
	var p struct {
		Most json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(policy), &p) != nil {
		return 0
	}
	return broker.Deliveries(number(strings.Trim(string(p.Most), `"`)))
}

// encryption is what a place must have so that a copy is kept no worse than
// its original.
func encryption(a map[string]string) map[string]string {
	key := map[string]string{}
	for _, name := range []string{attrKey, attrKeyReuse} {
		if v := a[name]; v != "" && a[attrKey] != "" {
			key[name] = v
		}
	}
	return key
}

// ensure makes a place of the source's where it is missing, and warns of what
// would lose copies there.
func (b *Broker) ensure(ctx context.Context, f *found, place string) error {
	a, url, err := b.look(ctx, place)
	if errors.Is(err, broker.ErrMissing) {
		return b.make(ctx, f, place)
	}
	if err != nil && !errors.Is(err, broker.ErrPermission) {
		return err
	}
	if url == "" {
		return err
	}
	for _, text := range doubts(nameOf(place), a) {
		f.warn("%s", text)
	}
	return b.client.maySend(ctx, url)
}

// look returns a queue's attributes, and its URL also where it may not be
// looked at.
func (b *Broker) look(ctx context.Context, queue string) (a map[string]string, url string, err error) {
	if url, err = b.urlOf(ctx, queue); err == nil {
		a, err = b.client.attributes(ctx, url)
	}
	if errors.Is(err, broker.ErrMissing) {
		b.forget(queue)
	}
	return a, url, err
}

func (b *Broker) make(ctx context.Context, f *found, place string) error {
	a := map[string]string{attrRetention: fmt.Sprint(longestKept)}
	if f.fifo {
		a[attrFIFO] = "true"
	}
	maps.Copy(a, f.key)
	url, err := b.client.create(ctx, nameOf(place), a)
	switch {
	case errors.Is(err, broker.ErrPermission):
		return fmt.Errorf("%w; or let its owner make it: %s", err, createCommand(nameOf(place), a))
	case err != nil:
		return err
	case isURL(place) && strings.TrimSuffix(url, "/") != place:
		return fmt.Errorf("awssqs: queue %s of another account is missing: %w; its owner makes it: %s", place, broker.ErrMissing, createCommand(nameOf(place), a))
	}
	return b.client.maySend(ctx, url)
}

// createCommand is what to type.
func createCommand(name string, a map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		list = append(list, key+"="+a[key])
	}
	return fmt.Sprintf("aws sqs create-queue --queue-name %s --attributes %s", name, strings.Join(list, ","))
}

// doubts are what an operator should mend of a place that is there.
func doubts(name string, a map[string]string) []string {
	list := removals(name, a)
	if text := tooSmall(name, a); text != "" {
		list = append(list, text)
	}
	return list
}

// removals are the rules by which SQS removes copies from a place sooner than
// it must.
func removals(name string, a map[string]string) (list []string) {
	if kept := number(a[attrRetention]); kept > 0 && kept < longestKept {
		list = append(list, fmt.Sprintf("queue %s drops messages after %d s; set %s=%d, which is the most", name, kept, attrRetention, longestKept))
	}
	if n := redriveLimit(a[attrRedrive]); n > 0 {
		list = append(list, fmt.Sprintf("queue %s has a redrive policy: after %d looks at a message SQS moves it away; take the policy off", name, n))
	}
	return list
}

// tooSmall is said of a place that does not take every copy.
func tooSmall(name string, a map[string]string) string {
	most := number(a[attrLargest])
	if most == 0 || most >= maxMessage {
		return ""
	}
	return fmt.Sprintf("queue %s takes %d bytes a message; a copy is larger than its original: set %s=%d", name, most, attrLargest, maxMessage)
}
