package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// The codes of a broker's answers.
const (
	codeSuccess        = 0
	codeError          = 1
	codeBusy           = 2
	codeUnsupported    = 3
	codeFlushDisk      = 10 // stored, and not known to be on the disk in time
	codeNoSlave        = 11 // stored, and on no replica
	codeFlushSlave     = 12 // stored, and not known to be on a replica in time
	codeIllegal        = 13
	codeNotWritable    = 14 // the store does not write for now
	codeNoPermission   = 16
	codeNoTopic        = 17
	codeNotFound       = 19
	codeRetryAtOnce    = 20
	codeOffsetMoved    = 21
	codeNoOffset       = 22
	codeNoGroup        = 26
	codeNotOnline      = 206
	codeNoMessage      = 208
	codePollingFull    = 209
	codePollingTimeout = 210
	codeFlowControl    = 215
)

// fault is an answer that is no success.
type fault struct {
	code   int
	remark string
}

func (f *fault) Error() string {
	return fmt.Sprintf("the broker answered %d: %.300s", f.code, f.remark)
}

// ofCredentials tells who is not known from who may not: brokers have one code
// for both, and only their words differ.
func (f *fault) ofCredentials() bool {
	for _, words := range []string{"signature", "is not found", "is disabled", "username cannot be null"} {
		if strings.Contains(f.remark, words) {
			return true
		}
	}
	return false
}

// codeOf is the code of the answer that err is, or -1.
func codeOf(err error) int {
	var f *fault
	if errors.As(err, &f) {
		return f.code
	}
	return -1
}

// classify gives an error its class and says what was tried.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	class := classOf(err)
	if class == nil {
		return fmt.Errorf("rocketmq: %s: %w", what, err)
	}
	return fmt.Errorf("rocketmq: %s: %w: %w", what, class, err)
}

func classOf(err error) error {
	var f *fault
	switch {
	case known(err), errors.Is(err, context.Canceled):
		return nil
	case !errors.As(err, &f):
		return broker.ErrUnreachable
	}
	switch f.code {
	case codeNoPermission:
		if f.ofCredentials() {
			return broker.ErrCredentials
		}
		return broker.ErrPermission
	case codeNoTopic, codeNoGroup:
		return broker.ErrMissing
	case codeUnsupported:
		return broker.ErrUnsupported
	case codeBusy, codeFlowControl, codeNotWritable:
		return broker.ErrUnreachable
	default:
		return broker.ErrRefused
	}
}

// known reports whether err has a class of ours already.
func known(err error) bool {
	for _, class := range []error{
		broker.ErrUnreachable, broker.ErrCredentials, broker.ErrPermission, broker.ErrMismatch,
		broker.ErrMissing, broker.ErrConfig, broker.ErrUnsupported, broker.ErrUnrouted, broker.ErrRefused,
		broker.ErrUnknown, broker.ErrSettled, broker.ErrPaused, broker.ErrClosed, broker.ErrDetached,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("rocketmq: %s: %w", fmt.Sprintf(format, args...), broker.ErrUnsupported)
}

// notSent reports whether a request never left: nothing was done.
func notSent(err error) bool {
	return err != nil && codeOf(err) < 0 && !errors.Is(err, errUnanswered) && !errors.Is(err, errTimeout)
}

// stored reads the outcome of a send. What was sent and has no answer, and an
// answer that the message is stored but not as safe as the broker was told to
// store it, leaves the outcome unknown.
func stored(topic string, err error) error {
	switch code := codeOf(err); {
	case err == nil:
		return nil
	case notSent(err):
		return fmt.Errorf("rocketmq: the copy was not sent: %w", err)
	case code == codeNoTopic:
		return fmt.Errorf("rocketmq: topic %s is gone: %w: %w", topic, broker.ErrUnrouted, err)
	case code == codeNoGroup:
		return fmt.Errorf("rocketmq: the group of topic %s is gone: %w: %w", topic, broker.ErrUnrouted, err)
	case code == codeNoPermission:
		return fmt.Errorf("rocketmq: topic %s takes no message from us: grant PUB on it: %w: %w: %w", topic, broker.ErrRefused, broker.ErrPermission, err)
	case code == codeFlushDisk, code == codeNoSlave, code == codeFlushSlave, code < 0:
		return fmt.Errorf("rocketmq: it is not known whether topic %s has the copy: %w: %w", topic, broker.ErrUnknown, err)
	default:
		return fmt.Errorf("rocketmq: topic %s did not take the copy: %w: %w", topic, broker.ErrRefused, err)
	}
}
