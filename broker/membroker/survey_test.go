package membroker_test

import (
	"errors"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

func TestSurvey(t *testing.T) {
	b := membroker.New()
	b.DeclareQueue("orders")
	for _, body := range []string{"a", "b", "c"} {
		publish(t, b, "orders", body)
	}
	take(t, b, "orders")
	publish(t, b, membroker.ParkedQueue("orders"), "parked")
	v, err := b.Survey(t.Context(), []string{"orders", "missing"})
	if err != nil {
		t.Fatal(err)
	}
	if s := v.Sources[0]; s.Err != nil || s.Ready != 2 || s.Unsettled != 1 || s.Consumers != 1 || s.Parked != 1 || len(v.Trouble) > 0 {
		t.Errorf("the survey is %+v", v)
	}
	if !errors.Is(v.Sources[1].Err, broker.ErrMissing) {
		t.Errorf("a queue that is missing: %v", v.Sources[1].Err)
	}
	b.Block("the disk is full")
	if v, err = b.Survey(t.Context(), nil); err != nil || len(v.Trouble) != 1 {
		t.Errorf("blocked: %+v, %v", v, err)
	}
	b.Stop()
	if _, err := b.Survey(t.Context(), nil); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("stopped: %v", err)
	}
}
