package awssqs

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/holdfast-mq/holdfast/broker"
)

func answer(status int, err error) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}
}

func coded(code string) error { return &smithy.GenericAPIError{Code: code, Message: "text of " + code} }

func TestErrorsHaveTheirClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		err              error
		asking, sendings error
	}{
		{"a queue that is missing", answer(400, &types.QueueDoesNotExist{}), broker.ErrMissing, broker.ErrUnrouted},
		{"a grant that is missing", answer(403, coded("AccessDenied")), broker.ErrPermission, broker.ErrRefused},
		{"keys that are refused", answer(403, coded("InvalidClientTokenId")), broker.ErrCredentials, broker.ErrRefused},
		{"a throttle", answer(400, coded("RequestThrottled")), broker.ErrUnreachable, broker.ErrRefused},
		{"a body that SQS does not take", answer(400, coded("InvalidMessageContents")), broker.ErrRefused, broker.ErrRefused},
		{"a fault of the service", answer(500, coded("InternalFailure")), broker.ErrUnreachable, broker.ErrUnknown},
		{"a connection that breaks", errors.New("connection reset"), broker.ErrUnreachable, broker.ErrUnknown},
		{"an answer that does not come", context.DeadlineExceeded, broker.ErrUnreachable, broker.ErrUnknown},
	} {
		if err := classify("ask", "Ask", c.err); !errors.Is(err, c.asking) {
			t.Errorf("%s: asking: %v", c.name, err)
		}
		if err := storing("orders", c.err); !errors.Is(err, c.sendings) {
			t.Errorf("%s: sending: %v", c.name, err)
		}
	}
}

// SQS answers a signature that it cannot verify with the request that it
// expected, and that has the session's token.
func TestARefusedSignatureIsNotQuoted(t *testing.T) {
	t.Parallel()
	err := classify("ask", "Ask", answer(403, &smithy.GenericAPIError{Code: "SignatureDoesNotMatch", Message: "x-amz-security-token:SECRET"}))
	if !errors.Is(err, broker.ErrCredentials) || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("the error is %v", err)
	}
}

func TestOneFailureOfABatchHidesNoSuccess(t *testing.T) {
	t.Parallel()
	r := newResults(3)
	id := func(s string) *string { return &s }
	r.succeeded(id("0"))
	r.failed([]types.BatchResultErrorEntry{{Id: id("2"), Code: id("ReceiptHandleIsInvalid")}})
	got := r.all(nil)
	if got[0] != nil || !errors.Is(got[1], broker.ErrUnknown) || !errors.Is(got[2], broker.ErrRefused) {
		t.Errorf("the results are %v", got)
	}
}
