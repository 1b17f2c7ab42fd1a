package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	case isAny(err, nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired), saysAuth(err):
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
	switch {
	case !errors.As(err, &api), api.Code == 503:
		return broker.ErrUnreachable
	case isCode(err, codeSubjectsOverlap):
		return broker.ErrMismatch
	case isCode(err, codeNoReplicas):
		return broker.ErrConfig
	}
	return broker.ErrRefused
}

// saysAuth reads what the client passes on as text alone when it connects.
func saysAuth(err error) bool {
	text := strings.ToLower(err.Error())
	for _, said := range []string{nats.AUTHENTICATION_EXPIRED_ERR, nats.AUTHENTICATION_REVOKED_ERR, nats.ACCOUNT_AUTHENTICATION_EXPIRED_ERR} {
		if strings.Contains(text, said) {
			return true
		}
	}
	return false
}

// Codes of the server that the client has no name for.
const (
	codeNoReplicas      jetstream.ErrorCode = 10074 // more than one, and the server is alone
	codeSubjectsOverlap jetstream.ErrorCode = 10065 // another stream takes ours
)

func isCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
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
