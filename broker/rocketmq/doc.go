// Package rocketmq is the Apache RocketMQ driver of Holdfast, for RocketMQ 5.1
// and later.
//
// A queue is named TOPIC/GROUP: a topic and a consumer group that their owner
// made. Neither is ever changed. On each broker that has the topic the driver
// declares
//
//	<ns>_parked_TOPIC%GROUP    parked copies, a topic with one queue
//	<ns>_gone_PLACE            what was removed from a place, made by the first removal
//	%RETRY%GROUP_TOPIC         the group's own retry topic, which the broker would make at the first retry
//	GROUP_TOPIC                a group that consumes nothing: a broker takes copies for that retry topic only where it is known
//
// Deliveries are popped: the broker hides a message from the rest of the group
// for a lease, takes its acknowledgement by itself, and gives it back through
// the retry topic, with its count one higher, when neither came. A retry is the
// same message hidden for the rung. Held copies are timed messages that the
// broker puts into the retry topic, where this group alone reads them.
//
// RocketMQ removes no message from a topic. What an operator replays or
// discards is marked as gone, in a topic of its own beside the place, and the
// files of both go when the broker's retention ends: fileReservedTime, 72 hours
// by default. Read docs/brokers/rocketmq.md before parking for longer.
//
// The driver speaks RocketMQ's remoting protocol by itself, in wire.go, conn.go
// and calls.go: the Go client for that protocol cannot pop.
package rocketmq
