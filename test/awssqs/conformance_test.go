package awssqs

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/test/conformance/ledger"
)

var found ledger.Run

// TestMain lets several cases run at once: they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "16")
	}
	os.Exit(found.End(m.Run()))
}

// TestKumo runs the suite on the emulator in this process.
func TestKumo(t *testing.T) {
	t.Parallel()
	onEach(t, "kumo", kumoURL(t))
}

func onEach(t *testing.T, emulator, url string) {
	t.Helper()
	for _, fifo := range []bool{false, true} {
		for _, sns := range []bool{false, true} {
			name := map[bool]string{false: "SQS standard ", true: "SQS FIFO "}[fifo] + map[bool]string{false: "raw", true: "SNS"}[sns]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newService(t, url, fifo)
				s.sns = sns
				enter(emulator, brokertest.Run(t, env(name, s)))
			})
		}
	}
}

// enter puts what kumo has shown into the ledger: it is the one that runs
// everywhere.
func enter(emulator string, result brokertest.Result) {
	if emulator == "kumo" {
		result.Broker = emulator
		found.Add(result)
	}
}

func env(name string, s *service) brokertest.Env {
	e := brokertest.Env{
		Name:            name,
		Capabilities:    broker.Capabilities{Delay: true, Hold: true, Stamp: true, Counts: true, Attempts: true},
		Open:            s.open,
		NewQueue:        s.newQueue,
		RecreateQueue:   s.recreateQueue,
		DeleteQueue:     s.deleteQueue,
		Publish:         s.publish,
		Parked:          beside(parkedSuffix),
		Hold:            beside(holdSuffix),
		Cut:             s.cut,
		NewLimitedQueue: s.newLimitedQueue,
		Unordered:       true, // each message has a group of its own
		BlindConsumers:  true,
		LargestBody:     1<<20 - 8<<10,
		Headers: map[string]any{
			"text": "naïve – 漢字 – 🎈", "number": json.Number("12.50"), "bytes": []byte{0, 1, 0xff},
		},
		Without: map[string]string{
			"Restart":           "the emulators keep nothing over a restart",
			"Block":             "SQS has no state in which publishes wait",
			"PublishVia":        "SQS knows queues only",
			"NewTransientQueue": "an SQS queue stays until somebody deletes it",
		},
		Slow: 3,
	}
	if s.sns {
		e.LargestBody = snsLargest - 8<<10
	}
	return e
}
