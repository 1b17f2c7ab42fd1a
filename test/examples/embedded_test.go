package examples

import (
	"os"
	"testing"
)

// It needs no server: that is its point.
func TestEmbedded_needs_nothing_and_leaves_nothing(t *testing.T) {
	tmp := t.TempDir()
	run(t, "", []string{"TMPDIR=" + tmp}, program(t, "examples/embedded")).wants(t, 0,
		"order 1 charged on attempt 1", "order 2 charged on attempt 1", "order 5 charged on attempt 1",
		"Received:7 Done:3 Delayed:2 Held:0 Parked:2 Discarded:0 Released:0 InFlight:0",
		"parked: order-3: exhausted: the card was declined",
		"parked: order-4: malformed: malformed body: unexpected end of JSON input")
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
