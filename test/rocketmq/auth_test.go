package rocketmq

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

// TestCredentials: requests are signed, and who signs with the wrong secret is
// told so, without the secret. The broker's own topic is there from the start,
// so that only the group is missing for who is let in.
func TestCredentials(t *testing.T) {
	s := Start(t, "authenticationEnabled=true",
		"authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider",
		"authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider",
		`initAuthenticationUser={"username":"holdfast","password":"correct horse"}`,
		`innerClientAuthenticationCredentials={"accessKey":"holdfast","secretKey":"correct horse"}`,
	)
	for secret, want := range map[string]error{
		"correct%20horse":  broker.ErrMissing,
		"battery%20staple": broker.ErrCredentials,
	} {
		b, err := rocketmq.Open(t.Context(), rocketmq.Config{URL: "rocketmq://holdfast:" + secret + "@" + s.nameAddr})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Open(t.Context(), broker.Subscription{Queue: "broker-a/nobody"})
		if !errors.Is(err, want) || strings.Contains(err.Error(), "battery") || strings.Contains(err.Error(), "horse") {
			t.Errorf("%v, not %v", err, want)
		}
		closeBroker(t, b)
	}
}
