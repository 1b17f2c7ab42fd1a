package awssqs

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/test/conformance/ledger"
)

var found ledger.Run

// TestMain lets several cases run at once: they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	usually("test.parallel", "16")
	if !wholeOnElasticMQ() {
		usually("test.skip", beyondContract)
	}
	code := found.End(m.Run())
	endServers(code)
	os.Exit(code)
}

// usually sets a flag that was not given.
func usually(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		_ = flag.Set(name, value)
	}
}

// TestKumo runs the suite on the emulator in this process.
func TestKumo(t *testing.T) {
	t.Parallel()
	onEach(t, standIn{name: "kumo", url: kumoURL(t), groupLease: lease, slow: 3})
}

// standIn is an emulator that the suite runs on.
type standIn struct {
	name       string        // as the ledger shows it
	suffix     string        // of its rows
	url        string        // where it answers
	groupLease time.Duration // of FIFO queues
	slow       float64       // as the suite has it
}

// onEach runs the suite on each kind of queue of an emulator.
func onEach(t *testing.T, e standIn) {
	t.Helper()
	for _, fifo := range []bool{false, true} {
		for _, sns := range []bool{false, true} {
			name := map[bool]string{false: "SQS standard ", true: "SQS FIFO "}[fifo] + map[bool]string{false: "raw", true: "SNS"}[sns]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newService(t, e.url, fifo)
				s.sns = sns
				if fifo {
					s.lease = e.groupLease
				}
				suite := env(name+e.suffix, s)
				suite.Slow = e.slow
				result := brokertest.Run(t, suite)
				result.Broker = e.name
				found.Add(result)
			})
		}
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
	}
	if s.sns {
		e.LargestBody = snsLargest - 8<<10
	}
	return e
}
