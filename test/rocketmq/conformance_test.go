package rocketmq

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/test/conformance/ledger"
)

var found ledger.Run

// TestMain lets several cases run at once, unless told otherwise: they mostly
// wait for the broker to look for what has come back.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "16")
	}
	os.Exit(found.End(m.Run()))
}

// TestSuite runs the suite on a topic with one queue, where order can be told.
func TestSuite(t *testing.T) {
	found.Add(brokertest.Run(t, Env(t, "RocketMQ", Start(t), 1)))
}
