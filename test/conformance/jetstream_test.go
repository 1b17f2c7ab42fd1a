package conformance

import (
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// TestJetStream runs the suite on a server that is another process and on one
// inside this process.
func TestJetStream(t *testing.T) {
	t.Run("external", func(t *testing.T) {
		t.Parallel()
		conform(t, jetEnv("JetStream external", newJet(t, startExternal(t))))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		conform(t, jetEnv("JetStream embedded", newJet(t, startEmbedded(t))))
	})
}

func jetEnv(name string, j *jet) brokertest.Env {
	return brokertest.Env{
		Name:              name,
		Capabilities:      broker.Capabilities{Delay: true, Hold: true, Stamp: true, Counts: true},
		Open:              j.open,
		NewQueue:          j.newQueue,
		RecreateQueue:     j.recreateQueue,
		DeleteQueue:       j.deleteQueue,
		NewTransientQueue: j.newTransientQueue,
		NewLimitedQueue:   j.newLimitedQueue,
		Publish:           j.publish,
		PublishVia:        j.publishVia,
		Parked:            func(queue string) string { return queue + parkedSuffix },
		Hold:              func(queue string) string { return queue + ".hold" },
		Cut:               j.cut,
		Restart:           j.restart,
		RestartTakes:      5 * time.Second,
		LargestBody:       1<<20 - 16<<10, // what a server takes by default, and room for headers
		Headers: map[string]any{
			"text": "naïve – 漢字 – 🎈", "empty": "", "twice": []string{"a", "b"},
		},
		Added:   []string{"Nats-"},
		Without: map[string]string{"Block": "NATS has no state in which publishes wait"},
		Slow:    2,
	}
}
