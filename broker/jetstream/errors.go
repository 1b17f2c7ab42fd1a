package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// classify gives an error of the client its class and says what was tried.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	class := classOf(err)
	if class == nil {
		return fmt.Errorf("jetstream: %s: %w", what, err)
	}
	return fmt.Errorf("jetstream: %s: %w: %w", what, class, err)
}

func classOf(err error) error {
	switch {
	case known(err), errors.Is(err, context.Canceled):
		return nil
	case isAny(err, nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired):
		return broker.ErrCredentials
	case errors.Is(err, nats.ErrPermissionViolation):
		return broker.ErrPermission
	case isAny(err, jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist):
		return broker.ErrMissing
	case isAny(err, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount):
		return broker.ErrUnsupported
	case errors.Is(err, jetstream.ErrNotPullConsumer):
		return broker.ErrMismatch
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.Code != 503 {
		return broker.ErrRefused
	}
	return broker.ErrUnreachable
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
	return fmt.Errorf("jetstream: %s: %w", fmt.Sprintf(format, args...), broker.ErrUnsupported)
}
