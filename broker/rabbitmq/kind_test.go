package rabbitmq

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func answer(argument, received, current string) string {
	return fmt.Sprintf("PRECONDITION_FAILED - inequivalent arg '%s' for queue 'q' in vhost '/': received %s but current is %s",
		argument, received, current)
}

// TestKind plays what RabbitMQ 3.10 and 4.3 answer.
func TestKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		want    source
	}{
		"quorum":          {[]string{answer("x-queue-type", "'x'", "'quorum'")}, source{kind: kindQuorum}},
		"classic on 4.3":  {[]string{answer("x-queue-type", "'x'", "'classic'")}, source{kind: kindClassic}},
		"classic on 3.10": {[]string{answer("x-queue-type", "the value 'x' of type 'longstr'", "none")}, source{kind: kindClassic}},
		"stream":          {[]string{answer("x-queue-type", "'x'", "'stream'")}, source{kind: kindStream}},
		"another type":    {[]string{answer("x-queue-type", "'x'", "'mqtt'")}, source{kind: kindUnknown}},
		"transient": {[]string{
			answer("durable", "'true'", "'false'"), answer("x-queue-type", "'x'", "'classic'"),
		}, source{kind: kindClassic, transient: true}},
		"transient and auto-delete": {[]string{
			answer("durable", "'true'", "'false'"), answer("auto_delete", "'false'", "'true'"), "gone meanwhile",
		}, source{kind: kindClassic, transient: true, autoDelete: true}},
		"refused":          {[]string{"ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'svc'"}, source{kind: kindUnknown}},
		"just deleted":     {[]string{`PRECONDITION_FAILED - invalid arg 'x-queue-type' for queue 'q' in vhost '/': "unsupported"`}, source{kind: kindUnknown}},
		"an odd argument":  {[]string{answer("x-odd", "none", "the value '[]' of type 'array'")}, source{kind: kindUnknown}},
		"the same forever": {[]string{answer("x-max-length", "none", "the value '5' of type 'long'"), answer("x-max-length", "'5'", "the value '6' of type 'long'")}, source{kind: kindUnknown}},
		"with arguments": {[]string{
			answer("auto_delete", "'false'", "'true'"),
			answer("x-message-ttl", "none", "the value '60000' of type 'signedint'"),
			answer("x-dead-letter-exchange", "none", "the value '' of type 'longstr'"),
			answer("x-single-active-consumer", "none", "the value 'true' of type 'bool'"),
			answer("x-queue-type", "'x'", "'quorum'"),
		}, source{kind: kindQuorum, autoDelete: true}},
	} {
		q := question{args: amqp.Table{argType: askedType}, durable: true}
		found, done := kindUnknown, false
		for _, a := range c.answers {
			if done {
				t.Errorf("%s: done too early", name)
			}
			found, done = q.hear(a)
		}
		if got := q.source(found); got != c.want || !done {
			t.Errorf("%s: %+v, done %v", name, got, done)
		}
		if q.args[argType] != askedType {
			t.Errorf("%s: it asks for a type that exists", name)
		}
	}
}
