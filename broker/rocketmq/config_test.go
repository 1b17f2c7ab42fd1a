package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestOpen_checks_its_config(t *testing.T) {
	for name, tc := range map[string]struct {
		conf Config
		line string // empty: it is right
	}{
		"plain":             {Config{URL: "rocketmq://a:9876"}, ""},
		"several":           {Config{URL: "rocketmq://a:9876,b:9876/"}, ""},
		"with a key":        {Config{URL: "rocketmq://key:hun%40ter2@a:9876"}, ""},
		"dots":              {Config{URL: "rocketmq://a:9876", Namespace: "billing.holdfast"}, ""},
		"no URL":            {Config{}, "Config.URL is required"},
		"another scheme":    {Config{URL: "amqp://a:9876"}, "Config.URL is required"},
		"no port":           {Config{URL: "rocketmq://key:hunter2@a"}, "as host:port"},
		"no host":           {Config{URL: "rocketmq://key:hunter2@:9876"}, "as host:port"},
		"a key alone":       {Config{URL: "rocketmq://hunter2@a:9876"}, "cannot be read"},
		"a bad escape":      {Config{URL: "rocketmq://key:hunter2%zz@a:9876"}, "cannot be read"},
		"bad namespace":     {Config{URL: "rocketmq://a:9876", Namespace: "a%b"}, "Config.Namespace has letters"},
		"long namespace":    {Config{URL: "rocketmq://a:9876", Namespace: strings.Repeat("n", 41)}, "at most 40 bytes, not 41"},
		"short lease":       {Config{URL: "rocketmq://a:9876", Lease: time.Second}, "Config.Lease must be 3s to 12h0m0s, not 1s"},
		"negative time-out": {Config{URL: "rocketmq://a:9876", CallTimeout: -1}, "Config.CallTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(t.Context(), tc.conf)
			if tc.line == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, broker.ErrConfig) || !strings.Contains(err.Error(), tc.line) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestConfig_shows_no_secret(t *testing.T) {
	conf := Config{URL: "rocketmq://key:hunter2@a:9876"}.withDefaults()
	if err := conf.check(); err != nil {
		t.Fatal(err)
	}
	if conf.secret != "hunter2" || conf.key != "key" {
		t.Errorf("key %q, secret of %d bytes", conf.key, len(conf.secret))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, conf); strings.Contains(s, "hunter2") {
			t.Errorf("%s shows it", verb)
		}
	}
}
