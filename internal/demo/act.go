package demo

import "fmt"

// act is a part of the story: the sentence that opens it, and one that goes
// with how far it is.
type act struct {
	opening string
	live    func(Snapshot) string
}

func fixed(sentence string) act {
	return act{sentence, func(Snapshot) string { return sentence }}
}

func arrivals(orders, sentBefore int) act {
	if sentBefore > 0 {
		return fixed(fmt.Sprintf("%d of %d orders are known from an earlier run; going on from there", sentBefore, orders))
	}
	return act{
		fmt.Sprintf("%d orders come in", orders),
		func(s Snapshot) string {
			return fmt.Sprintf("orders come in: %d of %d are seen", s.Orders-s.count[coming], s.Orders)
		},
	}
}

func outage() act {
	return act{
		"billing is down: orders are held, and come back by themselves",
		func(s Snapshot) string {
			return fmt.Sprintf("billing is down: %s held, and come back by themselves", are(s.count[held], "order"))
		},
	}
}

func recovery() act {
	return act{
		"billing is back: what was held returns",
		func(s Snapshot) string {
			if s.count[held] == 0 {
				return "billing is back: all that was held has returned; retries go on"
			}
			return fmt.Sprintf("billing is back: %s still held and on the way", are(s.count[held], "order"))
		},
	}
}

func rest(exhausted, malformed int) act {
	switch {
	case exhausted == 0 && malformed == 0:
		return fixed("every order is settled, and nothing is parked")
	case exhausted == 0:
		return fixed(fmt.Sprintf("every order is settled; %s parked as malformed, for a person to look at", are(malformed, "order")))
	default:
		return fixed(fmt.Sprintf("%s parked as exhausted: %v, which is a bug; %s malformed",
			are(exhausted, "order"), errNoRate, are(malformed, "order")))
	}
}

func replaying(n int) act {
	return act{
		fmt.Sprintf("the bug is fixed: replaying %s", count(n, "order")),
		func(s Snapshot) string {
			return fmt.Sprintf("the bug is fixed: %d of %s replayed", s.Replayed, count(n, "parked order"))
		},
	}
}

func end(malformed int) act {
	if malformed == 0 {
		return fixed("the end: every order is accounted for")
	}
	return fixed(fmt.Sprintf("the end: %s malformed and parked, unchanged, until a person decides", are(malformed, "order")))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// are is a count as the beginning of a sentence.
func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}
