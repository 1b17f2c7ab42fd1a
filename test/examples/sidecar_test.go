package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

var fence = regexp.MustCompile("(?s)```sh\n(.*?)```")

// typed returns the blocks of commands in the sidecar's README: the command,
// the server, and the consumer that calls it.
func typed(t *testing.T) (command, server, http string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", "sidecar", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := fence.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("the README has %d blocks of commands, not 3", len(blocks))
	}
	return blocks[0][1], blocks[1][1], blocks[2][1]
}

// asTyped runs a block as a reader does, in a virtual host of its own, with
// the binary in the PATH.
func asTyped(t *testing.T, block string, env ...string) outcome {
	t.Helper()
	holdfast := program(t, "cmd/holdfast")
	env = append(env,
		"AMQP_URL="+testenv.Need(t, "rabbitmq4").VHost(t),
		"PATH="+filepath.Dir(holdfast)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return run(t, "", env, "bash", "-euo", "pipefail", "-c", block)
}

func TestSidecar_with_a_command(t *testing.T) {
	testenv.Need(t, "rabbitmq4")
	command, _, _ := typed(t)
	asTyped(t, command).wants(t, 0,
		"received 9: done 4, delayed 2, held 1, parked 2, discarded 0, released 0, in flight 0",
		"orders.shell.parked: 2 waiting", "exhausted 1, verdict 1",
		"exit code 1: order 3: the card was declined", "exit code 65: no order: it has no id or no amount")
}

func TestSidecar_with_an_HTTP_endpoint(t *testing.T) {
	testenv.Need(t, "rabbitmq4")
	_, server, http := typed(t)
	port := startServer(t, strings.TrimSpace(server))
	asTyped(t, http, "PORT="+port).wants(t, 0,
		"received 9: done 3, delayed 2, held 1, parked 2, discarded 1, released 0, in flight 0",
		"orders.python.parked: 2 waiting", "exhausted 1, verdict 1",
		"HTTP 500 Internal Server Error: order 3: the card was declined", "HTTP 422 Unprocessable Entity: no order")
}

func TestPublish_says_what_is_missing(t *testing.T) {
	publish := program(t, "examples/sidecar/publish")
	run(t, "", nil, publish).wants(t, 1, "usage: publish QUEUE")
	run(t, "", []string{"AMQP_URL=amqp://guest:hidden@127.0.0.1:1/"}, publish, "q").wants(t, 1, "AMQP_URL does not lead to a broker")
}
