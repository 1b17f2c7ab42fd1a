package broker

import (
	"testing"
	"time"
)

func TestCaptureFieldIsAllThatACaptureSets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := Capture{
		ID: "id", Attempt: 1, Lap: 1, Crashes: 1, Reason: ReasonVerdict, Error: "e", ErrorSHA256: "s", Cause: "c",
		Origin: Origin{Exchange: "x", Key: "k", Queue: "q"}, FirstFailedAt: now, FailedAt: now, NotBefore: now, Host: "h", Token: "t", Trace: "00-1-2-01",
	}
	n := 0
	c.Each(func(name string, _ any) {
		n++
		if !CaptureField(name) || !FailureField(name) {
			t.Errorf("%s is not replaced by a new capture", name)
		}
	})
	if n != len(captureFields) {
		t.Errorf("a capture sets %d fields, and %d are replaced", n, len(captureFields))
	}
}

func TestFailureFieldIsWhatFailureAdded(t *testing.T) {
	t.Parallel()
	for name, added := range map[string]bool{
		HeaderReplayID: true, HeaderExpiration: true, "rejectionReason": true, "originalTopic": true,
		"x-tenant": false, "Content-Type": false, "X-Holdfast-Id": false,
	} {
		if FailureField(name) != added {
			t.Errorf("%s: %v", name, !added)
		}
	}
}
