package conformance

import (
	"testing"

	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/test/conformance/memory"
)

// TestMemory runs the suite on the whole broker in memory, for its row in the
// table; the poorer ones are run by its own tests.
func TestMemory(t *testing.T) {
	conform(t, memory.Env("membroker", membroker.New(), memory.Capabilities()))
}
