package gcppubsub

import (
	"flag"
	"os"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/pstest"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
	"github.com/holdfast-mq/holdfast/test/conformance/ledger"
)

var found ledger.Run

// TestMain lets several cases run at once, unless told otherwise: they mostly
// wait. The server is told to take the short ack deadlines of the suite.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "32")
	}
	pstest.SetMinAckDeadline(time.Second)
	os.Exit(found.End(m.Run()))
}

// kinds are the configurations of sources that the suite runs on.
func kinds() (all []kind) {
	for _, mode := range []driver.Mode{driver.ModePull, driver.ModeStreaming} {
		for _, ordering := range []bool{false, true} {
			for _, policy := range []bool{true, false} {
				all = append(all, kind{mode, ordering, policy})
			}
		}
	}
	return all
}

func TestPubSub(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel() // each has a server of its own
			result := brokertest.Run(t, env(newStation(t, k)))
			result.Broker = "pstest"
			found.Add(result)
		})
	}
}

func env(s *station) brokertest.Env {
	caps := broker.Capabilities{Delay: true, Hold: true, Replies: true, Stamp: true}
	if s.policy {
		caps.Attempts, caps.Counts, caps.NativeLimit = true, true, maxAttempts
	} else {
		caps.FreeRelease, caps.Unenforceable = true, driver.Unenforceable
	}
	e := brokertest.Env{
		Name: "Pub/Sub " + s.String(), Capabilities: caps,
		Open: s.open, NewQueue: s.newQueue, RecreateQueue: s.recreateQueue, DeleteQueue: s.deleteQueue,
		Publish: s.publish, PublishVia: s.publishVia,
		Parked:      func(queue string) string { return queue + "-parked" },
		Hold:        func(queue string) string { return queue + "-hold" },
		Cut:         s.cut,
		LargestBody: 8 << 20,
		Unordered:   true,
		Headers:     map[string]any{"text": "naïve – 漢字 – 🎈", "empty": ""},
		Without: map[string]string{
			"Restart":           "pstest keeps nothing over a restart",
			"Block":             "Pub/Sub has no state in which publishes wait",
			"NewTransientQueue": "a subscription is never deleted under a hold",
			"NewLimitedQueue":   "a source with a limit has a dead-letter policy, which other configurations have",
		},
		Slow: 3,
	}
	if s.policy {
		e.NewLimitedQueue = s.newLimitedQueue
	}
	return e
}
