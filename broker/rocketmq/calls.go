package rocketmq

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The requests of which everything else is made. They have the shape of
// RocketMQ's gRPC API: receive, acknowledge, change the invisible time, send.

// handle is what a broker must be told of a popped message to know it again.
type handle struct {
	topic     string // that it was read from: the source, or the group's retry topic
	queue     int
	offset    int64
	start     int64 // of the pop that took it along
	popped    int64 // when, by the broker's clock, in ms
	invisible int64 // in ms
	revive    int
	retry     string // the broker's word for which topic
	broker    string
}

// text is the form in which the broker reads it.
func (h handle) text() string {
	return fmt.Sprintf("%d %d %d %d %s %s %d %d", h.start, h.popped, h.invisible, h.revive, h.retry, h.broker, h.queue, h.offset)
}

func (h handle) fields(group string) map[string]string {
	return map[string]string{
		"consumerGroup": group, "topic": h.topic, "queueId": strconv.Itoa(h.queue),
		"offset": number(h.offset), "extraInfo": h.text(),
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// pop takes up to n messages of a group, and waits at the broker for the
// first.
func (c *conn) pop(s source, n int, lease, wait time.Duration, done func(*command, error)) {
	c.ask(command{code: askPop, fields: map[string]string{
		"consumerGroup": s.group, "topic": s.topic, "queueId": "-1", "maxMsgNums": strconv.Itoa(n),
		"invisibleTime": number(lease.Milliseconds()), "pollTime": number(wait.Milliseconds()),
		"bornTime": number(time.Now().UnixMilli()), "initMode": "0", "order": "false",
	}}, wait+c.call, done)
}

func (c *conn) ack(h handle, group string, done func(error)) {
	c.ask(command{code: askAck, fields: h.fields(group)}, ackTimeout, func(_ *command, err error) { done(err) })
}

// hide makes the broker give the message out again after d, and not before
// unless it is told so. The handle it returns is the one that counts from then
// on.
func (c *conn) hide(h handle, group string, d time.Duration, done func(handle, error)) {
	fields := h.fields(group)
	fields["invisibleTime"] = number(d.Milliseconds())
	c.ask(command{code: askInvisible, fields: fields}, ackTimeout, func(a *command, err error) {
		if err != nil {
			done(h, err)
			return
		}
		popped, errPopped := strconv.ParseInt(a.fields["popTime"], 10, 64)
		invisible, errInvisible := strconv.ParseInt(a.fields["invisibleTime"], 10, 64)
		revive, errRevive := strconv.Atoi(a.fields["reviveQid"])
		if errPopped != nil || errInvisible != nil || errRevive != nil {
			done(h, fmt.Errorf("rocketmq: %s: the answer has no new handle", c.addr))
			return
		}
		h.popped, h.invisible, h.revive, h.start = popped, invisible, revive, h.offset
		done(h, nil)
	})
}

// send stores a letter in a queue of a topic.
func (c *conn) send(m letter, topic string, queue int, done func(*command, error)) {
	c.ask(command{code: askSend, body: m.body, fields: map[string]string{
		"producerGroup": producerGroup, "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "1",
		"queueId": strconv.Itoa(queue), "sysFlag": strconv.Itoa(m.sysFlag), "bornTimestamp": number(m.born),
		"flag": strconv.Itoa(m.flag), "properties": m.properties.text(), "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
	}}, c.call, done)
}

// producerGroup is a name that brokers show beside what we send.
const producerGroup = "holdfast"

// pull reads messages by their offset, and changes nothing.
func (c *conn) pull(ctx context.Context, topic string, queue int, offset int64) (list []record, next int64, err error) {
	const hasSubscription = 4
	a, err := c.wait(ctx, command{code: askPull, fields: map[string]string{
		"consumerGroup": toolsGroup, "topic": topic, "queueId": strconv.Itoa(queue), "queueOffset": number(offset),
		"maxMsgNums": "32", "sysFlag": strconv.Itoa(hasSubscription), "commitOffset": "0", "suspendTimeoutMillis": "0",
		"subscription": "*", "subVersion": "0", "expressionType": "TAG",
	}})
	switch codeOf(err) {
	case codeNotFound, codeRetryAtOnce, codeOffsetMoved:
		err = nil // and the next offset says where to go on
	}
	if err != nil {
		return nil, 0, err
	}
	if next, err = strconv.ParseInt(a.fields["nextBeginOffset"], 10, 64); err != nil {
		return nil, 0, fmt.Errorf("rocketmq: %s: the answer to a pull has no next offset", c.addr)
	}
	if a.code == codeSuccess {
		list, err = readRecords(a.body)
	}
	return list, next, err
}

// toolsGroup is a group that every broker has, for tools.
const toolsGroup = "TOOLS_CONSUMER"

// offset asks for one of a queue's ends.
func (c *conn) offset(ctx context.Context, ask int, topic string, queue int) (int64, error) {
	a, err := c.wait(ctx, command{code: ask, fields: map[string]string{"topic": topic, "queueId": strconv.Itoa(queue)}})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(a.fields["offset"], 10, 64)
}

// committed is the first offset that a group was not given yet.
func (c *conn) committed(ctx context.Context, group, topic string, queue int) (int64, error) {
	a, err := c.wait(ctx, command{code: askOffset, fields: map[string]string{
		"consumerGroup": group, "topic": topic, "queueId": strconv.Itoa(queue), "setZeroIfNotFound": "false",
	}})
	if codeOf(err) == codeNoOffset { // it was given none
		return c.offset(ctx, askMinOffset, topic, queue)
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(a.fields["offset"], 10, 64)
}

// topicQueues is how many queues a topic has here.
func (c *conn) topicQueues(ctx context.Context, topic string) (int, error) {
	a, err := c.wait(ctx, command{code: askTopic, fields: map[string]string{"topic": topic, "lo": "false"}})
	if err != nil {
		return 0, err
	}
	var conf struct {
		ReadQueueNums int `json:"readQueueNums"`
	}
	return conf.ReadQueueNums, json.Unmarshal(a.body, &conf)
}

func (c *conn) createTopic(ctx context.Context, topic string) error {
	_, err := c.wait(ctx, command{code: askCreateTopic, fields: map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}})
	return err
}

func (c *conn) findGroup(ctx context.Context, group string) error {
	_, err := c.wait(ctx, command{code: askGroup, fields: map[string]string{"group": group}})
	return err
}

// createIdleGroup makes a group that nobody can consume with.
func (c *conn) createIdleGroup(ctx context.Context, group string) error {
	body, err := json.Marshal(map[string]any{"groupName": group, "consumeEnable": false})
	if err != nil {
		return err
	}
	_, err = c.wait(ctx, command{code: askCreateGroup, body: body})
	return err
}
