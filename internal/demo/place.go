package demo

// place is where an order is. The set is closed.
type place uint8

const (
	coming place = iota // not sent yet, waiting in the source, or being worked on
	delayed
	held
	parked
	done
	dropped

	places = int(dropped) + 1
)

// shown is the order in which a view lists the places, and what it calls them.
var shown = []struct {
	place place
	name  string
}{
	{done, "done"}, {delayed, "delayed"}, {held, "held"}, {parked, "parked"}, {dropped, "discarded"}, {coming, "to come"},
}
