package rabbitmq

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	headers := amqp.Table{
		"x-death": nil, "x-first-death-queue": "", "x-first-death-anything": "", "x-last-death-reason": "", "x-delivery-count": 1,
		"x-acquired-count": 1, headerSeq: 1, "x-custom": 1, "x-deaths": 1, broker.HeaderID: "id", broker.HeaderReason: "verdict",
		broker.HeaderExpiration: "1", broker.HeaderReplayID: "r", broker.HeaderReplays: 1, headerUserID: "u", headerCut: nil,
		"originalTopic": "", "originalMessageType": "", "rejectionReason": "", "rejectionMessage": "", "rejectionTimestamp": "",
		"RejectionReason": "another library's",
	}
	before := maps.Clone(headers)
	rejection := []string{"originalMessageType", "originalTopic", "rejectionMessage", "rejectionReason", "rejectionTimestamp"}
	ours := []string{broker.HeaderExpiration, broker.HeaderReplayID, broker.HeaderReplays, headerUserID, headerCut}
	plain := []string{"RejectionReason", "x-custom", "x-deaths"}
	for name, c := range map[string]struct {
		want   func(string) bool
		result []string
	}{
		"a copy with a new capture": {carried, slices.Concat(plain, rejection, ours)},
		"a copy that keeps it":      {kept, slices.Concat(plain, rejection, ours, []string{broker.HeaderID, broker.HeaderReason})},
		"a fresh one":               {fresh, plain},
	} {
		got := slices.Sorted(maps.Keys(pick(headers, c.want)))
		slices.Sort(c.result)
		if !slices.Equal(got, c.result) {
			t.Errorf("%s: %v, want %v", name, got, c.result)
		}
	}
	if !reflect.DeepEqual(headers, before) {
		t.Error("the original was changed")
	}
}

func TestCopyKeepsProperties(t *testing.T) {
	t.Parallel()
	l := letterWith(amqp.Table{"a": "b"})
	l.expiration, l.userID, l.priority = "60000", "producer", 5
	m := l.publishing(amqp.Table{}, "holdfast")
	if m.Expiration != "" || m.Headers[broker.HeaderExpiration] != "60000" {
		t.Errorf("expiration %q, headers %v", m.Expiration, m.Headers)
	}
	if m.UserId != "" || m.Headers[headerUserID] != "producer" {
		t.Errorf("user id %q, headers %v", m.UserId, m.Headers)
	}
	if m.DeliveryMode != amqp.Persistent || m.Priority != 5 {
		t.Errorf("mode %d, priority %d", m.DeliveryMode, m.Priority)
	}
	if m := l.publishing(amqp.Table{}, "producer"); m.UserId != "producer" {
		t.Error("our own user id was taken away")
	}
}

func TestFirstDeath(t *testing.T) {
	t.Parallel()
	entry := func(queue, reason, exchange, key string) amqp.Table {
		return amqp.Table{"queue": queue, "reason": reason, "exchange": exchange, "routing-keys": []any{key}}
	}
	two := []any{entry("retry", "expired", "dlx", "retry"), entry("orders", "rejected", "shop", "order.new")}
	for name, c := range map[string]struct {
		headers amqp.Table
		want    death
		ok      bool
	}{
		"none":           {amqp.Table{"a": "b"}, death{}, false},
		"no list":        {amqp.Table{"x-death": "x"}, death{}, false},
		"odd entries":    {amqp.Table{"x-death": []any{"x", 1, nil}}, death{}, false},
		"the oldest":     {amqp.Table{"x-death": two}, death{broker.Origin{Exchange: "shop", Key: "order.new", Queue: "orders"}, "rejected"}, true},
		"by its headers": {amqp.Table{"x-death": two, "x-first-death-queue": "retry", "x-first-death-reason": "expired"}, death{broker.Origin{Exchange: "dlx", Key: "retry", Queue: "retry"}, "expired"}, true},
		"no keys":        {amqp.Table{"x-death": []any{amqp.Table{"queue": "q", "reason": "maxlen"}}}, death{broker.Origin{Queue: "q"}, "maxlen"}, true},
	} {
		got, ok := firstDeath(c.headers)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
