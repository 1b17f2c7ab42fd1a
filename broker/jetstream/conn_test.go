package jetstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

func wantErr(t testing.TB, err, class error, texts ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("got %v, want class %v", err, class)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

func TestConnectIsClassified(t *testing.T) {
	t.Parallel()
	for said, class := range map[string]error{
		"Authorization Violation":         broker.ErrCredentials,
		"User Authentication Expired":     broker.ErrCredentials,
		"User Authentication Revoked":     broker.ErrCredentials,
		"maximum connections exceeded":    broker.ErrUnreachable,
		"Account Authentication Expired":  broker.ErrCredentials,
		"some words that nobody expected": broker.ErrUnreachable,
	} {
		_, err := dialFake(t, &fake{refuse: said})
		wantErr(t, err, class)
	}
}

// TestDeniedSubjectIsTheOnesWhoAsked: a refusal is known by its subject alone,
// and one that begins alike is another's.
func TestDeniedSubjectIsTheOnesWhoAsked(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	f := &fake{published: func(_ *fake, m *nats.Msg) {
		if strings.HasPrefix(m.Subject, apiPrefix) {
			asked <- m.Subject
		}
	}}
	c := mustDial(t, f)
	results := map[string]chan error{"ORDERS": make(chan error, 1), "ORDERS2": make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	for name, result := range results {
		go func() {
			_, err := c.stream(ctx, name)
			result <- err
		}()
	}
	<-asked
	<-asked
	f.say("-ERR 'Permissions Violation for Publish to \"$JS.API.STREAM.INFO.ORDERS2\"'\r\n")
	wantErr(t, <-results["ORDERS2"], broker.ErrPermission, "STREAM.INFO.ORDERS2", "docs/permissions.md")
	cancel()
	wantErr(t, <-results["ORDERS"], context.Canceled)
	if !c.alive() {
		t.Error("the connection was given up")
	}
}

func TestDeniedSubscription(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := mustDial(t, f)
	f.say("-ERR 'Permissions Violation for Subscription to \"$JS.EVENT.ADVISORY.X\"'\r\n")
	if err := c.mayHear(t.Context(), "$JS.EVENT.ADVISORY.X"); !errors.Is(err, broker.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if err := c.mayHear(t.Context(), "$JS.EVENT.ADVISORY.Y"); err != nil {
		t.Errorf("another's refusal: %v", err)
	}
	if !c.alive() {
		t.Fatal("one session's subscription ended all of the connection")
	}
	f.say("-ERR 'Permissions Violation for Subscription to \"_INBOX.x.*\"'\r\n")
	select {
	case <-c.dead:
		wantErr(t, c.why(), broker.ErrPermission, "_INBOX")
	case <-time.After(10 * time.Second):
		t.Error("a connection that hears nothing stays")
	}
}

// TestClientErrorsAreClassified names what the client's errors mean to us.
func TestClientErrorsAreClassified(t *testing.T) {
	t.Parallel()
	api := func(code int, number jetstream.ErrorCode) error {
		return &jetstream.APIError{Code: code, ErrorCode: number}
	}
	for _, c := range []struct{ err, class error }{
		{nats.ErrTimeout, broker.ErrUnreachable},
		{nats.ErrNoServers, broker.ErrUnreachable},
		{nats.ErrNoResponders, broker.ErrUnreachable},
		{nats.ErrAuthorization, broker.ErrCredentials},
		{nats.ErrPermissionViolation, broker.ErrPermission},
		{jetstream.ErrStreamNotFound, broker.ErrMissing},
		{jetstream.ErrConsumerNotFound, broker.ErrMissing},
		{jetstream.ErrNotPullConsumer, broker.ErrMismatch},
		{jetstream.ErrJetStreamNotEnabledForAccount, broker.ErrUnsupported},
		{api(503, 10008), broker.ErrUnreachable},
		{api(400, 10065), broker.ErrMismatch},
		{api(500, 10074), broker.ErrConfig},
		{api(400, 10002), broker.ErrRefused},
		{broker.ErrClosed, broker.ErrClosed},
	} {
		err := classify("try", c.err)
		wantErr(t, err, c.class, "jetstream: try")
		if !errors.Is(err, c.err) {
			t.Errorf("%v hides %v", err, c.err)
		}
	}
	if err := classify("try", nil); err != nil {
		t.Error(err)
	}
	if err := classify("try", context.Canceled); broker.Permanent(err) || errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("a cancelled call is %v", err)
	}
}
