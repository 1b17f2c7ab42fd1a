package awssqs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// jarsVariable names the folder with ElasticMQ's jars.
const jarsVariable = "HOLDFAST_ELASTICMQ"

// TestElasticMQ runs the suite on a server that is another process and keeps
// the order of message groups as SQS does.
func TestElasticMQ(t *testing.T) {
	t.Parallel()
	onEach(t, "ElasticMQ", elasticMQ(t))
}

// elasticMQ starts a server and returns its URL. Without its jars the test is
// recorded as not run.
func elasticMQ(t *testing.T) string {
	t.Helper()
	jars := os.Getenv(jarsVariable)
	if jars == "" {
		testenv.Skip(t, "elasticmq", jarsVariable+" names no folder with its jars")
	}
	dir := t.TempDir()
	port := freePort(t)
	conf := filepath.Join(dir, "elasticmq.conf")
	if err := os.WriteFile(conf, []byte(fmt.Sprintf(elasticConf, port, port)), 0o600); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	start(t, url+"/health", "java", "-Xmx256m", "-Dconfig.file="+conf, "-cp", filepath.Join(jars, "*"), "org.elasticmq.server.Main")
	return url
}

const elasticConf = `
include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = %d, context-path = "" }
rest-sqs { enabled = true, bind-port = %d, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
`
