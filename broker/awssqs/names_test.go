package awssqs

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestPlacesStandBesideTheirSource(t *testing.T) {
	t.Parallel()
	plain, spaced := names{"", "-parked", "-hold"}, names{"billing", "-parked", "-hold"}
	for _, c := range []struct{ queue, got, want string }{
		{"orders", plain.parkedOf("orders"), "orders-parked"},
		{"orders.fifo", plain.holdOf("orders.fifo"), "orders-hold.fifo"},
		{"orders.fifo", spaced.parkedOf("orders.fifo"), "billing-orders-parked.fifo"},
		{
			"an URL", plain.parkedOf("https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo"),
			"https://sqs.eu-west-1.amazonaws.com/123456789012/orders-parked.fifo",
		},
	} {
		if c.got != c.want {
			t.Errorf("the place of %s is %s, not %s", c.queue, c.got, c.want)
		}
	}
	if !spaced.isOurs("billing-orders-hold.fifo") || spaced.isOurs("orders-hold") || plain.isOurs("orders") {
		t.Error("a place is not known by its name")
	}
}

func TestAQueueThatCannotBeOrLeavesNoRoomForItsPlacesIsRefused(t *testing.T) {
	t.Parallel()
	n := names{"", "-parked", "-hold"}
	for _, queue := range []string{"", "a.b", "or ders", ".fifo"} {
		if err := n.checkQueue(queue); !errors.Is(err, broker.ErrMissing) {
			t.Errorf("%.100q: %v", queue, err)
		}
	}
	for _, queue := range []string{strings.Repeat("q", maxName-len("-parked")+1), strings.Repeat("q", maxName-len("-parked.fifo")+1) + ".fifo"} {
		if err := n.checkQueue(queue); !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%.100q: %v", queue, err)
		}
	}
	for _, queue := range []string{"orders", "orders.fifo", strings.Repeat("q", maxName-len("-parked")), "https://host/1/orders"} {
		if err := n.checkQueue(queue); err != nil {
			t.Errorf("%.100q: %v", queue, err)
		}
	}
}
