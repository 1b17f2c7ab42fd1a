package rabbitmq

import (
	"errors"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

func said(code int, reason string) error {
	return &amqp.Error{Code: code, Reason: reason, Server: true}
}

func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	needs := []grant{{"configure", "queue", "q.parked"}, {"write", "exchange", "ns.return"}, {"read", "queue", "q.parked"}}
	for name, c := range map[string]struct {
		err   error
		class error
		texts []string
	}{
		"missing": {said(404, "NOT_FOUND - no queue 'q'"), broker.ErrMissing, []string{"does not exist: declare it"}},
		"refused, RabbitMQ 4": {
			said(403, "ACCESS_REFUSED - configure access to queue 'q.parked' in vhost 'v' refused for user 'svc'"), broker.ErrPermission,
			[]string{`user "svc" needs configure on queue "q.parked" in virtual host "v"`},
		},
		"refused, RabbitMQ 3": {
			said(403, "ACCESS_REFUSED - access to queue 'q.parked' in vhost '/' refused for user 'svc'"), broker.ErrPermission,
			[]string{`needs configure on queue "q.parked" and read on queue "q.parked"`},
		},
		"reserved": {said(403, "ACCESS_REFUSED - queue name 'amq.x' contains reserved prefix 'amq.*'"), broker.ErrPermission, []string{"reserved prefix"}},
		"mismatch": {
			said(406, "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'ns.retry.1' in vhost '/': received '1' but current is '2'"),
			broker.ErrMismatch,
			[]string{"x-message-ttl", "asks for '1'", "has '2'", "delete or rename it", "never changes it"},
		},
		"a mismatch in other words": {said(406, "PRECONDITION_FAILED - odd"), broker.ErrMismatch, []string{"odd", "delete or rename it"}},
		"exclusive":                 {said(405, "RESOURCE_LOCKED - cannot obtain exclusive access"), broker.ErrPermission, []string{"exclusive"}},
		"anything else":             {said(541, "INTERNAL_ERROR"), broker.ErrUnreachable, []string{"INTERNAL_ERROR"}},
	} {
		err := refusedRequest(`queue "q"`, needs, c.err)
		if !errors.Is(err, c.class) || !strings.HasPrefix(err.Error(), `rabbitmq: queue "q"`) {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range c.texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q does not say %q", name, err, text)
			}
		}
	}
}

func TestDialError(t *testing.T) {
	t.Parallel()
	at := endpoint{host: "rabbit", port: "5672", user: "svc", password: "hunter2", vhost: "orders"}
	for name, c := range map[string]struct {
		err   error
		class error
	}{
		"refused login":          {said(403, "ACCESS_REFUSED - Login was refused"), broker.ErrCredentials},
		"lost in the handshake":  {amqp.ErrCredentials, broker.ErrUnreachable},
		"lost at the vhost":      {amqp.ErrVhost, broker.ErrUnreachable},
		"no such virtual host":   {said(530, "NOT_ALLOWED - vhost orders not found"), broker.ErrMissing},
		"not let in":             {said(530, "NOT_ALLOWED - access to vhost 'orders' refused for user 'svc'"), broker.ErrPermission},
		"too many connections":   {said(530, "NOT_ALLOWED - access to vhost 'orders' refused for user 'svc': connection limit (1) is reached"), broker.ErrUnreachable},
		"going down":             {said(320, "CONNECTION_FORCED - broker forced connection closure"), broker.ErrUnreachable},
		"nobody answers":         {errors.New("dial tcp: connection refused"), broker.ErrUnreachable},
		"the client's own guess": {&amqp.Error{Code: 403, Reason: "no"}, broker.ErrUnreachable},
	} {
		if err := dialError(at, c.err); !errors.Is(err, c.class) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChannelErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{
		amqp.NotFound: true, amqp.PreconditionFailed: true, amqp.AccessRefused: true,
		amqp.ConnectionForced: false, amqp.FrameError: false, amqp.InternalError: false, amqp.NotAllowed: false,
	} {
		if got := channelError(code); got != want {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
}
