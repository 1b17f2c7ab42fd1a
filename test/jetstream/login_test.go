package jetstream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

// TestLogin: who we are, whether there is a server, and whether it has
// JetStream are told apart, and no error shows the password.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := runServer(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "user", Password: password}}
	})
	right := urlOf(s, "user")
	plain := runServer(t, func(o *server.Options) { o.JetStream = false })
	gone := runServer(t, func(*server.Options) {})
	nobody := "nats://user:" + password + "@" + gone.Addr().String()
	gone.Shutdown()
	gone.WaitForShutdown()
	for what, c := range map[string]struct {
		url       string
		class     error
		permanent bool
		says      string
	}{
		"another password": {strings.Replace(right, password, password+"3", 1), broker.ErrCredentials, true, "Authorization Violation"},
		"no password":      {"nats://" + s.Addr().String(), broker.ErrCredentials, true, ""},
		"no server":        {nobody, broker.ErrUnreachable, false, ""},
		"no JetStream":     {"nats://" + plain.Addr().String(), broker.ErrUnsupported, true, "not enabled on this server"},
	} {
		p := &place{T: t, url: c.url}
		_, err := p.open().Open(p.ctx(), broker.Subscription{Queue: "ORDERS/billing"})
		wantErr(t, err, c.class, c.says)
		if broker.Permanent(err) != c.permanent {
			t.Errorf("%s: permanent is %v: %v", what, !c.permanent, err)
		}
		if strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: it shows the password: %v", what, err)
		}
	}
}

// TestAccountWithoutJetStream: the server has it and the account does not.
func TestAccountWithoutJetStream(t *testing.T) {
	t.Parallel()
	s := runServer(t, func(o *server.Options) {
		with, sans := server.NewAccount("WITH"), server.NewAccount("SANS")
		o.Accounts = []*server.Account{with, sans}
		o.Users = []*server.User{{Username: "user", Password: password, Account: sans}}
	})
	p := &place{T: t, url: urlOf(s, "user")}
	_, err := p.open().Open(p.ctx(), broker.Subscription{Queue: "ORDERS/billing"})
	wantErr(t, err, broker.ErrUnsupported, "not enabled")
}

// TestOpenConnectsNothing: a server that is down is the first session's error.
func TestOpenConnectsNothing(t *testing.T) {
	t.Parallel()
	b, err := jetstream.Open(t.Context(), jetstream.Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}
