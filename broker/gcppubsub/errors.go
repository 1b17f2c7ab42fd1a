package gcppubsub

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-mq/holdfast/broker"
)

// classify gives an error of a call its class and says what was tried. grant
// is the permission that the call needs.
func classify(what, grant string, err error) error {
	switch {
	case err == nil:
		return nil
	case known(err), errors.Is(err, context.Canceled):
		return fmt.Errorf("gcppubsub: %s: %w", what, err)
	}
	switch code(err) {
	case codes.Unauthenticated:
		return fmt.Errorf("gcppubsub: %s: %w: %w; give application default credentials or Config.Options", what, broker.ErrCredentials, err)
	case codes.PermissionDenied:
		return fmt.Errorf("gcppubsub: %s: %w: grant %s: %w", what, broker.ErrPermission, grant, err)
	case codes.NotFound:
		return fmt.Errorf("gcppubsub: %s: %w: %w", what, broker.ErrMissing, err)
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return fmt.Errorf("gcppubsub: %s: %w: %w", what, broker.ErrRefused, err)
	case codes.Unimplemented:
		return fmt.Errorf("gcppubsub: %s: %w: %w", what, broker.ErrUnsupported, err)
	default:
		return fmt.Errorf("gcppubsub: %s: %w: %w", what, broker.ErrUnreachable, err)
	}
}

// code is the status of a call; the end of its own time is one too.
func code(err error) codes.Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// published gives the error of a publish its class: whether the copy is surely
// not stored, or nobody can say.
func published(topic string, err error) error {
	if err == nil {
		return nil
	}
	switch code(err) {
	case codes.NotFound:
		return fmt.Errorf("gcppubsub: no topic takes the copy, %s is gone: %w: %w", topic, broker.ErrUnrouted, err)
	case codes.PermissionDenied, codes.Unauthenticated:
		return fmt.Errorf("gcppubsub: the copy was not taken: %w: grant pubsub.topics.publish on %s: %w", broker.ErrRefused, topic, err)
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange, codes.ResourceExhausted, codes.Unimplemented:
		return fmt.Errorf("gcppubsub: %s did not take the copy: %w: %w", topic, broker.ErrRefused, err)
	default:
		return fmt.Errorf("gcppubsub: the publish to %s has no answer: %w: %w", topic, broker.ErrUnknown, err)
	}
}

// known reports whether err has a class of ours already.
func known(err error) bool {
	return isAny(err, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrPermission, broker.ErrMismatch,
		broker.ErrMissing, broker.ErrConfig, broker.ErrUnsupported, broker.ErrUnrouted, broker.ErrRefused,
		broker.ErrUnknown, broker.ErrSettled, broker.ErrPaused, broker.ErrClosed, broker.ErrDetached)
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("gcppubsub: %s: %w", fmt.Sprintf(format, args...), broker.ErrUnsupported)
}
