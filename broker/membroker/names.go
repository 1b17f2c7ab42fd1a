package membroker

import (
	"fmt"
	"time"
)

// Unrouted is the queue of what could not return to its source because the
// source is gone.
const Unrouted = "holdfast.unrouted"

// ParkedQueue is the name of the queue where the consumers of queue park.
func ParkedQueue(queue string) string { return queue + ".parked" }

// HoldQueue is the name of the queue where held messages of queue wait.
func HoldQueue(queue string) string { return queue + ".hold" }

// ParkedPlace implements [broker.Places].
func (*Broker) ParkedPlace(queue string) (name string, shared bool) { return ParkedQueue(queue), false }

// HoldPlace implements [broker.Places].
func (*Broker) HoldPlace(queue string) string { return HoldQueue(queue) }

// RungQueue is the name of the queue where messages of all sources wait for
// delay.
func RungQueue(delay time.Duration) string {
	return fmt.Sprintf("holdfast.retry.%d", delay.Milliseconds())
}
