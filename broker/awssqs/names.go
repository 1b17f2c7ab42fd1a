package awssqs

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	fifoSuffix = ".fifo"

	// maxName is what SQS takes as a name, ".fifo" included.
	maxName = 80
)

// names builds the names of the driver's queues; nothing else does.
type names struct {
	namespace, parked, hold string
}

func (n names) parkedOf(queue string) string { return n.beside(queue, n.parked) }

func (n names) holdOf(queue string) string { return n.beside(queue, n.hold) }

// beside names a queue beside another: in the same account where that is given
// as an URL, and with ".fifo" at the end where that has it.
func (n names) beside(queue, suffix string) string {
	account, name := "", queue
	if i := strings.LastIndexByte(queue, '/'); i >= 0 {
		account, name = queue[:i+1], queue[i+1:]
	}
	name, fifo := strings.CutSuffix(name, fifoSuffix)
	if n.namespace != "" {
		name = n.namespace + "-" + name
	}
	name += suffix
	if fifo {
		name += fifoSuffix
	}
	return account + name
}

// holds reports whether queue is named as a place of held messages.
func (n names) holds(queue string) bool { return n.isPlace(queue, n.hold) }

// isOurs reports whether queue is named as one of the driver's.
func (n names) isOurs(queue string) bool { return n.holds(queue) || n.isPlace(queue, n.parked) }

func (n names) isPlace(queue, suffix string) bool {
	name, _ := strings.CutSuffix(nameOf(queue), fifoSuffix)
	return strings.HasSuffix(name, suffix) && (n.namespace == "" || strings.HasPrefix(name, n.namespace+"-"))
}

// isURL reports whether queue is an URL and not a name.
func isURL(queue string) bool { return strings.Contains(queue, "://") }

// nameOf is the queue's own name, in an URL the last part.
func nameOf(queue string) string { return queue[strings.LastIndexByte(queue, '/')+1:] }

func isFIFO(queue string) bool { return strings.HasSuffix(queue, fifoSuffix) }

// checkQueue refuses what cannot be the name of a source with places beside
// it. A name that SQS does not take is that of no queue.
func (n names) checkQueue(queue string) error {
	name, _ := strings.CutSuffix(nameOf(queue), fifoSuffix)
	switch longest := max(len(nameOf(n.parkedOf(queue))), len(nameOf(n.holdOf(queue)))); {
	case name == "" || !validName(name):
		return fmt.Errorf("%w: awssqs: Subscription.Queue must be the name or the URL of an SQS queue, and none is named %.200q", broker.ErrMissing, queue)
	case longest > maxName:
		return fmt.Errorf("%w: awssqs: the names of the queues beside %q would have %d characters, and SQS takes %d; shorten Config.ParkedSuffix, Config.HoldSuffix or Config.Namespace",
			broker.ErrConfig, name, longest, maxName)
	}
	return nil
}

func validName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '_' {
			return false
		}
	}
	return true
}
