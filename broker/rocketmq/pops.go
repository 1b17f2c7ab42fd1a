package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxPop is the most messages that one pop may take.
	maxPop = 32

	// popFor is how long a pop waits at the broker: so long may a pause take,
	// and a message of one broker wait while another is asked.
	popFor = 500 * time.Millisecond

	// silence is how long past its time the answer to a pop may be missing.
	silence = 5 * time.Second

	// breath is the pause after an answer that may repeat at once.
	breath = 100 * time.Millisecond
)

// pop asks the brokers for messages, one request at a time: so what is asked
// for and what is unsettled never exceed the prefetch together.
func (s *session) pop() {
	for turn := 0; ; turn++ {
		n := 0
		err := s.await(context.Background(), func() bool {
			n = s.wanted()
			s.asking = n
			return n > 0
		})
		if err != nil {
			return
		}
		at := s.source.sites[turn%len(s.source.sites)]
		list, err := s.popFrom(at, n)
		s.arrive(list)
		if err != nil {
			s.popFailed(at, err)
		}
	}
}

func (s *session) popFrom(at *site, n int) ([]*delivery, error) {
	type outcome struct {
		answer *command
		err    error
	}
	result := make(chan outcome, 1)
	at.conn.pop(s.source.source, n, s.broker.conf.Lease, popFor/time.Duration(len(s.source.sites)), func(answer *command, err error) {
		result <- outcome{answer, err}
	})
	o := <-result
	s.mu.Lock()
	s.heard = time.Now()
	s.mu.Unlock()
	switch codeOf(o.err) {
	case codePollingTimeout, codeNotFound, codeRetryAtOnce:
		return nil, nil
	}
	if o.err != nil {
		return nil, o.err
	}
	return s.deliveries(at, o.answer)
}

// popFailed ends the session, unless the broker only has too much to do.
func (s *session) popFailed(at *site, err error) {
	switch codeOf(err) {
	case codePollingFull, codeBusy, codeFlowControl:
		select {
		case <-time.After(breath):
		case <-s.done:
		}
	case codeNoTopic, codeNoGroup:
		s.end(fmt.Errorf("rocketmq: queue %v is gone from broker %s: %w: %w", s.source.source, at.name, broker.ErrDetached, err))
	default:
		s.end(classify(fmt.Sprintf("pop from broker %s", at.name), err))
	}
}

var errAnswer = errors.New("rocketmq: the answer to a pop cannot be read")

// deliveries reads the answer to a pop. Its fields name the messages in the
// order of the body, part by part: from which topic, from which queue, from
// which offset on the broker counts them, and their offsets. What a message
// itself says of its pop may be an earlier one's.
func (s *session) deliveries(at *site, a *command) ([]*delivery, error) {
	records, err := readRecords(a.body)
	if err != nil {
		return nil, err
	}
	popped, errPopped := strconv.ParseInt(a.fields["popTime"], 10, 64)
	invisible, errInvisible := strconv.ParseInt(a.fields["invisibleTime"], 10, 64)
	revive, errRevive := strconv.Atoi(a.fields["reviveQid"])
	if errPopped != nil || errInvisible != nil || errRevive != nil {
		return nil, errAnswer
	}
	handles, err := s.handles(a)
	if err != nil || len(handles) != len(records) {
		return nil, errAnswer
	}
	list := make([]*delivery, len(records))
	for i := range records {
		h := handles[i]
		if h.queue != records[i].queue || h.offset != records[i].offset {
			return nil, errAnswer
		}
		h.popped, h.invisible, h.revive, h.broker = popped, invisible, revive, at.name
		list[i] = newDelivery(s, &records[i], h)
	}
	return list, nil
}

// handles reads which messages an answer has.
func (s *session) handles(a *command) (list []handle, err error) {
	starts := map[string]int64{}
	for part := range strings.SplitSeq(a.fields["startOffsetInfo"], ";") {
		if f := strings.Split(part, " "); len(f) == 3 {
			if starts[f[0]+" "+f[1]], err = strconv.ParseInt(f[2], 10, 64); err != nil {
				return nil, err
			}
		}
	}
	for part := range strings.SplitSeq(a.fields["msgOffsetInfo"], ";") {
		f := strings.Split(part, " ")
		if len(f) != 3 {
			return nil, errAnswer
		}
		queue, err := strconv.Atoi(f[1])
		start, ok := starts[f[0]+" "+f[1]]
		if err != nil || !ok {
			return nil, errAnswer
		}
		for text := range strings.SplitSeq(f[2], ",") {
			offset, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, err
			}
			list = append(list, handle{topic: s.topicOf(f[0]), queue: queue, offset: offset, start: start, retry: f[0]})
		}
	}
	return list, nil
}

// topicOf is the topic that a broker means by 0, 1 and 2.
func (s *session) topicOf(retry string) string {
	switch retry {
	case "1":
		return s.source.back()
	case "2":
		return s.source.backNew()
	default:
		return s.source.topic
	}
}
