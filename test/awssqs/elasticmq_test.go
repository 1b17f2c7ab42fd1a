package awssqs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// wholeVariable has "elasticmq" in it for the whole suite. It takes as long as
// that on kumo and more of the processor, so that a usual run has the contract.
const wholeVariable = "HOLDFAST_WHOLE"

func wholeOnElasticMQ() bool { return strings.Contains(os.Getenv(wholeVariable), "elasticmq") }

// beyondContract matches the other topics of the suite on ElasticMQ.
var beyondContract = "^TestElasticMQ$/^SQS/" + anyBut(brokertest.Contract)

// anyBut matches every name that does not begin with this one.
func anyBut(name string) string {
	var ways []string
	for i := range name {
		ways = append(ways, fmt.Sprintf("%s([^%s]|$)", name[:i], name[i:i+1]))
	}
	return "^(" + strings.Join(ways, "|") + ")"
}

// TestElasticMQ runs the suite on a server that is another process and keeps
// the order of message groups as SQS does.
func TestElasticMQ(t *testing.T) {
	t.Parallel()
	s := elasticMQ(t)
	// With hundreds of groups its receives take so long that shorter leases end
	// meanwhile, again and again. A crash then takes longer to be seen.
	onEach(t, standIn{name: s.name, suffix: " on ElasticMQ", url: s.url, groupLease: 3 * lease, slow: 6})
	if !wholeOnElasticMQ() {
		t.Run("the_other_topics", func(t *testing.T) {
			testenv.Skip(t, "elasticmq", "the suite beyond the contract; "+wholeVariable+"=elasticmq runs it")
		})
	}
}

// elasticMQ returns the server. Without its jars or Java the test is recorded
// as not run.
func elasticMQ(t *testing.T) *server {
	t.Helper()
	jars, reason := cached("elasticmq", "pom.xml", `<version>(\d+\.[^<]+)</version>`, "elasticmq-server_*.jar")
	if _, err := exec.LookPath("java"); err != nil {
		reason = "java is not installed"
	}
	if reason != "" {
		testenv.Skip(t, "elasticmq", reason)
	}
	s := oneElasticMQ.get(t, func() (*server, error) { return runElasticMQ(jars) })
	s.await(t, "/health")
	return s
}

var oneElasticMQ shared

// runElasticMQ runs it with the compiler and the collector that cost least on a
// small machine.
func runElasticMQ(jars string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	for key, value := range map[string]any{
		"node-address.protocol": "http", "node-address.host": "127.0.0.1", "node-address.port": port, "node-address.context-path": "",
		"rest-sqs.enabled": true, "rest-sqs.bind-port": port, "rest-sqs.bind-hostname": "127.0.0.1", "rest-sqs.sqs-limits": "strict",
		"rest-stats.enabled": false,
	} {
		args = append(args, fmt.Sprintf("-D%s=%v", key, value))
	}
	args = append(args, "-cp", filepath.Join(jars, "*"), "org.elasticmq.server.Main")
	version := strings.TrimPrefix(filepath.Base(jars), "elasticmq-")
	return start("ElasticMQ "+version, fmt.Sprintf("http://127.0.0.1:%d", port), "java", args...)
}
