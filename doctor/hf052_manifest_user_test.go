package doctor

import (
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/topology"
)

func TestRightsThatAManifestNeeds(t *testing.T) {
	ok := management.Permission{User: "u", VHost: "/", Configure: "^(x|q)$", Write: "^(x|q|dlx)$", Read: "^(x|q)$"}
	for name, c := range map[string]struct {
		permission management.Permission
		topics     []management.TopicPermission
		want       string // empty is no finding
	}{
		"all it needs":            {ok, nil, ""},
		"anywhere in the name":    {management.Permission{User: "u", VHost: "/", Configure: "[xq]", Write: "", Read: "."}, nil, `write on "dlx", to be a dead-letter exchange`},
		"nothing":                 {management.Permission{User: "u", VHost: "/"}, nil, `configure on "x", to declare it`},
		"of another virtual host": {management.Permission{User: "u", VHost: "other", Configure: ".*", Write: ".*", Read: ".*"}, nil, "no such user"},
		"no dead-lettering":       {management.Permission{User: "u", VHost: "/", Configure: "^(x|q)$", Write: "^(x|q)$", Read: "^(x|q)$"}, nil, `write on "dlx"`},
		"no reading":              {management.Permission{User: "u", VHost: "/", Configure: "^(x|q)$", Write: "^(x|q|dlx)$", Read: "^x$"}, nil, `read on "q"`},
		"a topic that is allowed": {ok, []management.TopicPermission{{User: "u", VHost: "/", Exchange: "x", Write: "^a", Read: "^a"}}, ""},
		"a topic that is refused": {ok, []management.TopicPermission{{User: "u", VHost: "/", Exchange: "x", Write: "^z", Read: "^a"}}, `refuses the key "a.b"`},
		"a topic not to bind":     {ok, []management.TopicPermission{{User: "u", VHost: "/", Exchange: "x", Write: "^a", Read: "^z"}}, `refuses to bind "a.#"`},
	} {
		f := &Facts{
			RabbitMQ: &management.Snapshot{
				Permissions: []management.Permission{c.permission}, TopicPermissions: c.topics,
				Exchanges: []management.Exchange{{VHost: "/", Name: "x", Type: "topic"}},
			},
			Manifests: []topology.Manifest{{Service: "s", User: "u", Declares: topology.Topology{
				Exchanges: []topology.Exchange{{Name: "x", Type: "topic"}},
				Queues:    []topology.Queue{{Name: "q", Arguments: map[string]any{topology.ArgDeadLetterExchange: "dlx"}}},
				Bindings:  []topology.Binding{{Source: "x", Destination: "q", Key: "a.#"}},
			}, Publishes: []topology.Publication{{Exchange: "x", Key: "a.b"}}, Consumes: []topology.Consumption{{Queue: "q"}}}},
		}
		found := manifestRefused.Find(f)
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: %v", name, found[0].Evidence)
		case c.want != "" && (len(found) != 1 || !strings.Contains(strings.Join(found[0].Evidence, "\n"), c.want)):
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}
