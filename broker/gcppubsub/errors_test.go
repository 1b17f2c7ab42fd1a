package gcppubsub

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestErrors_have_the_class_that_a_caller_acts_on(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code          codes.Code
		call, publish error
	}{
		{codes.Unavailable, broker.ErrUnreachable, broker.ErrUnknown},
		{codes.DeadlineExceeded, broker.ErrUnreachable, broker.ErrUnknown},
		{codes.Internal, broker.ErrUnreachable, broker.ErrUnknown},
		{codes.Unauthenticated, broker.ErrCredentials, broker.ErrRefused},
		{codes.PermissionDenied, broker.ErrPermission, broker.ErrRefused},
		{codes.NotFound, broker.ErrMissing, broker.ErrUnrouted},
		{codes.InvalidArgument, broker.ErrRefused, broker.ErrRefused},
		{codes.ResourceExhausted, broker.ErrUnreachable, broker.ErrRefused},
		{codes.Unimplemented, broker.ErrUnsupported, broker.ErrRefused},
	} {
		err := status.Error(c.code, "so")
		if got := classify("pull", "the.grant", err); !errors.Is(got, c.call) || !errors.Is(got, err) {
			t.Errorf("a call that fails with %v: %v", c.code, got)
		}
		if got := published("the-topic", err); !errors.Is(got, c.publish) || !strings.Contains(got.Error(), "the-topic") {
			t.Errorf("a publish that fails with %v: %v", c.code, got)
		}
	}
	if got := classify("pull", "the.grant", status.Error(codes.PermissionDenied, "so")); !strings.Contains(got.Error(), "the.grant") {
		t.Errorf("it does not name the grant: %v", got)
	}
	if got := classify("pull", "", context.Canceled); broker.Permanent(got) || !errors.Is(got, context.Canceled) {
		t.Errorf("cancelled: %v", got)
	}
	if classify("pull", "", nil) != nil || published("t", nil) != nil {
		t.Error("nil is an error")
	}
}
