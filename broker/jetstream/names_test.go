package jetstream

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	n, s := names{"team.billing"}, source{"ORDERS", "billing"}
	for got, want := range map[string]string{
		s.String():                 "ORDERS/billing",
		s.backConsumer():           "ORDERS+billing",
		n.workStream():             "team_billing-work",
		n.parkedStream():           "team_billing-parked",
		n.back(s):                  "team.billing.back.ORDERS.billing",
		n.parked(s):                "team.billing.parked.ORDERS.billing",
		n.wait(s, waitHold, "s1"):  "team.billing.wait.ORDERS.billing.hold.s1",
		n.wait(s, waitRetry, "s1"): "team.billing.wait.ORDERS.billing.retry.s1",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// All that is published is what our streams take.
	for _, subject := range []string{n.back(s), n.wait(s, waitHold, "s1"), n.wait(s, waitRetry, "s1")} {
		if !matchesAny(n.workSubjects(), subject) || matchesAny(n.parkedSubjects(), subject) {
			t.Errorf("%s is not taken by the one stream", subject)
		}
	}
	if !matchesAny(n.parkedSubjects(), n.parked(s)) || matchesAny(n.workSubjects(), n.parked(s)) {
		t.Error("what is parked is not taken by the one stream")
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	parked, shared := b.ParkedPlace("ORDERS/billing")
	if parked != "ORDERS/billing.parked" || shared {
		t.Errorf("parked in %s, shared %v", parked, shared)
	}
	for name, kind := range map[string]placeKind{
		"ORDERS/billing": placeSource, parked: placeParked, b.HoldPlace("ORDERS/billing"): placeHold,
	} {
		if p, ok := parsePlace(name); !ok || p.kind != kind || p.source != (source{"ORDERS", "billing"}) {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
	}
	for _, name := range []string{"", "ORDERS", "ORDERS/billing.held", "ORDERS/.parked", "ORDERS/billing.hold.parked", "/billing"} {
		if p, ok := parsePlace(name); ok {
			t.Errorf("%q is %+v", name, p)
		}
	}
}
