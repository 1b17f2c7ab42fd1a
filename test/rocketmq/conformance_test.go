package rocketmq

import (
	"testing"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// TestSuite runs the suite on a topic with one queue, where order can be told.
func TestSuite(t *testing.T) {
	result := brokertest.Run(t, Env(t, "RocketMQ", Start(t), 1))
	t.Logf("%s: %d passed, %d failed, %d not for this broker", result.Broker,
		result.Count(brokertest.Passed), result.Count(brokertest.Failed), result.Count(brokertest.NotForBroker))
}
