package awssqs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// classes are the codes that SQS answers with, where the HTTP status does not
// say enough. SQS has kept the codes of two protocols.
var classes = map[string]error{
	"QueueDoesNotExist":                       broker.ErrMissing,
	"AWS.SimpleQueueService.NonExistentQueue": broker.ErrMissing,

	"AccessDenied":              broker.ErrPermission,
	"AccessDeniedException":     broker.ErrPermission,
	"AuthorizationError":        broker.ErrPermission,
	"KmsAccessDenied":           broker.ErrPermission,
	"KMS.AccessDeniedException": broker.ErrPermission,

	"AuthFailure":                 broker.ErrCredentials,
	"ExpiredToken":                broker.ErrCredentials,
	"ExpiredTokenException":       broker.ErrCredentials,
	"IncompleteSignature":         broker.ErrCredentials,
	"InvalidAccessKeyId":          broker.ErrCredentials,
	"InvalidClientTokenId":        broker.ErrCredentials,
	"InvalidSecurity":             broker.ErrCredentials,
	"MissingAuthenticationToken":  broker.ErrCredentials,
	"OptInRequired":               broker.ErrCredentials,
	"SignatureDoesNotMatch":       broker.ErrCredentials,
	"UnrecognizedClientException": broker.ErrCredentials,

	"InvalidParameterValue": broker.ErrRefused,
	"InvalidAttributeValue": broker.ErrRefused,
	"UnsupportedOperation":  broker.ErrRefused,

	// Waiting helps against these.
	"QueueDeletedRecently":                        broker.ErrUnreachable,
	"AWS.SimpleQueueService.QueueDeletedRecently": broker.ErrUnreachable,
	"OverLimit":               broker.ErrUnreachable,
	"RequestThrottled":        broker.ErrUnreachable,
	"ThrottlingException":     broker.ErrUnreachable,
	"Throttling":              broker.ErrUnreachable,
	"KmsThrottled":            broker.ErrUnreachable,
	"KMS.ThrottlingException": broker.ErrUnreachable,
}

// classify gives an error of the client its class and says what was tried. Of
// credentials that were refused only the code is kept: SQS quotes the request
// that it could not verify, session token included.
func classify(what, action string, err error) error {
	if err == nil {
		return nil
	}
	code := codeOf(err)
	switch class := classOf(err); {
	case class == nil:
		return fmt.Errorf("awssqs: %s: %w", what, err)
	case errors.Is(class, broker.ErrCredentials) && code != "":
		return fmt.Errorf("awssqs: %s: %w: %s", what, class, code)
	case errors.Is(class, broker.ErrPermission):
		return fmt.Errorf("awssqs: %s: %w; allow sqs:%s on it (and the key's use, where it is encrypted): %w", what, class, action, err)
	default:
		return fmt.Errorf("awssqs: %s: %w: %w", what, class, err)
	}
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func classOf(err error) error {
	if known(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	var missing *types.QueueDoesNotExist
	if errors.As(err, &missing) {
		return broker.ErrMissing
	}
	code := codeOf(err)
	if class := classes[code]; class != nil {
		return class
	}
	if status := statusOf(err); code != "" && status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return broker.ErrRefused
	}
	return broker.ErrUnreachable
}

func statusOf(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// neverSent reports whether no connection was had to send a request on.
func neverSent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// known reports whether err has a class of ours already.
func known(err error) bool {
	for _, class := range []error{
		broker.ErrUnreachable, broker.ErrCredentials, broker.ErrPermission, broker.ErrMismatch, broker.ErrMissing,
		broker.ErrConfig, broker.ErrUnsupported, broker.ErrUnrouted, broker.ErrRefused, broker.ErrUnknown,
		broker.ErrClosed, broker.ErrDetached,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// storing reads the error of a send. An answer of SQS that it did not take the
// message is a refusal, whatever it says of us; without an answer nobody knows.
func storing(queue string, err error) error {
	if err == nil {
		return nil
	}
	err = classify("send to "+nameOf(queue), "SendMessage", err)
	switch answered := statusOf(err) > 0 && statusOf(err) < http.StatusInternalServerError || codeOf(err) != "" && statusOf(err) == 0; {
	case errors.Is(err, broker.ErrMissing):
		return fmt.Errorf("%w: %w", broker.ErrUnrouted, err)
	case errors.Is(err, broker.ErrRefused):
		return err
	case answered, neverSent(err), errors.Is(err, broker.ErrCredentials):
		return fmt.Errorf("%w: %w", broker.ErrRefused, err)
	default:
		return fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	}
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("awssqs: %s: %w", fmt.Sprintf(format, args...), broker.ErrUnsupported)
}
