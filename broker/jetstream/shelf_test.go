package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter, subject string
		want            bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.*.c", "a.b.c.d", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "b.c", false},
		{"*.b.>", "a.b.c", true},
		{"*.b.>", "a.b", false},
	} {
		if got := matches(c.filter, c.subject); got != c.want {
			t.Errorf("%s on %s: %v", c.filter, c.subject, got)
		}
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  jetstream.ConsumerConfig
		want bool
	}{
		{jetstream.ConsumerConfig{}, true},
		{jetstream.ConsumerConfig{FilterSubject: "a.*"}, true},
		{jetstream.ConsumerConfig{FilterSubject: "b.*"}, false},
		{jetstream.ConsumerConfig{FilterSubjects: []string{"b.*", "a.b"}}, true},
		{jetstream.ConsumerConfig{FilterSubjects: []string{"b.*", "c.b"}}, false},
	} {
		if got := wants(c.cfg, "a.b"); got != c.want {
			t.Errorf("%+v: %v", c.cfg, got)
		}
	}
}
