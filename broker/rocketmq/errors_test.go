package rocketmq

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestStored(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"stored":           {nil, nil},
		"not flushed":      {&fault{code: codeFlushDisk}, broker.ErrUnknown},
		"no replica":       {&fault{code: codeNoSlave}, broker.ErrUnknown},
		"not replicated":   {&fault{code: codeFlushSlave}, broker.ErrUnknown},
		"no answer":        {fmt.Errorf("a: %w", errTimeout), broker.ErrUnknown},
		"connection ended": {fmt.Errorf("a: %w", errUnanswered), broker.ErrUnknown},
		"not sent":         {fmt.Errorf("a: %w", broker.ErrUnreachable), broker.ErrUnreachable},
		"no topic":         {&fault{code: codeNoTopic}, broker.ErrUnrouted},
		"no group":         {&fault{code: codeNoGroup}, broker.ErrUnrouted},
		"busy":             {&fault{code: codeBusy}, broker.ErrRefused},
		"too large":        {&fault{code: codeIllegal}, broker.ErrRefused},
		"forbidden":        {&fault{code: codeNoPermission}, broker.ErrPermission},
	} {
		if got := stored("T", tc.err); !errors.Is(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := stored("T", fmt.Errorf("a: %w", broker.ErrUnreachable)); errors.Is(err, broker.ErrUnknown) {
		t.Errorf("what was not sent is no unknown outcome: %v", err)
	}
}

func TestClassify(t *testing.T) {
	for code, want := range map[int]error{
		codeNoTopic: broker.ErrMissing, codeNoGroup: broker.ErrMissing, codeNoPermission: broker.ErrPermission,
		codeBusy: broker.ErrUnreachable, codeFlowControl: broker.ErrUnreachable, codeUnsupported: broker.ErrUnsupported,
		codeError: broker.ErrRefused,
	} {
		if err := classify("a", &fault{code: code, remark: "r"}); !errors.Is(err, want) || codeOf(err) != code {
			t.Errorf("%d: %v", code, err)
		}
	}
	if err := classify("a", errors.New("b")); !errors.Is(err, broker.ErrUnreachable) {
		t.Error(err)
	}
	if err := classify("a", fmt.Errorf("b: %w", broker.ErrCredentials)); errors.Is(err, broker.ErrUnreachable) {
		t.Error(err)
	}
}
