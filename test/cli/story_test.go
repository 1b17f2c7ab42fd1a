package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/triage"
)

// handler is the service: what it does with an order is in the order's id.
const handler = `case "$HOLDFAST_MESSAGE_ID" in
bad*) echo "no such customer" >&2; exit 65;;
slow*) echo "bank down" >&2; exit 75;;
flaky*) [ "$HOLDFAST_ATTEMPT" = 3 ] || { echo "try again" >&2; exit 1; };;
never*) echo "boom" >&2; exit 1;;
esac`

func TestStory(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declareSource(nil)
		var all []amqp.Publishing
		for _, kind := range []string{"good", "bad", "flaky", "never", "slow"} {
			for i := range 3 {
				all = append(all, order(fmt.Sprintf("%s-%d", kind, i+1), `{"kind":"`+kind+`"}`))
			}
		}
		s.publish("shop", "orders.created", all...)

		s.want(s.consume(), 0, "done 6, delayed 12, held 3, parked 6, discarded 0, released 0, in flight 0")
		s.wantDepth(parked, 6)
		s.wantDepth(queue+".hold", 3)
		s.looks()
		s.replays()
		s.discardsAndExports()
		s.resumes()
	})
}

func (s *scene) consume() *run {
	s.t.Helper()
	return s.holdfast("consume", "--queue", queue, "--exec", handler, "--ladder", "100ms,200ms", "--hold", "1h", "--until-idle", "2s")
}

func (s *scene) looks() {
	s.t.Helper()
	for range 2 {
		s.want(s.holdfast("parked", queue), 0, parked+": 6 waiting, 0 consumers", "exhausted 3, verdict 3",
			"orders.created", "no such customer", "boom")
	}
	s.want(s.holdfast("parked", queue, "--from", queue+".hold", "--accept-charge"), 0, ".hold: 3 waiting", "bank down")
	first := s.holdfast("peek", queue, "--limit", "2")
	s.want(first, 0, `{"kind":"bad"}`, "2 of 6 shown", `exchange "shop" key "orders.created"`)
	if again := s.holdfast("peek", queue, "--limit", "2"); ids(again) != ids(first) {
		s.t.Errorf("a look changed the order:\n%s\n%s", &first.out, &again.out)
	}
	s.want(s.holdfast("show", queue, "bad-2"), 0, "verdict", "no such customer", "tenant: acme", "attempt 1, lap 0, crashes 0")
	if r := s.holdfast("show", queue, "bad-2", "--body"); r.out.String() != `{"kind":"bad"}` {
		s.t.Errorf("body %q", &r.out)
	}
	s.want(s.holdfast("show", queue, "nobody"), 1, "no such message")
	s.want(s.holdfast("parked", "billing-service.typo"), 2, "billing-service.typo.parked", "see --from")
}

// ids are the ids that a peek shows.
func ids(r *run) string {
	var out []string
	for line := range strings.Lines(r.out.String()) {
		if strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func (s *scene) replays() {
	s.t.Helper()
	s.want(s.holdfast("replay", queue, "--dry-run", "--reason", "exhausted"), 0, "dry run: would replay 3 of 6 (not matching 3)")
	s.want(s.holdfast("replay", queue, "--reason", "exhausted", "--limit", "1"), 0, "replayed 1, kept 5")
	s.want(s.holdfast("replay", queue, "--reason", "exhausted"), 0, "replayed 2, kept 3 (not matching 3), failed 0; replay id ")
	s.wantDepth(queue, 3)
	// Nothing was mended: they come back, with a history that begins anew.
	s.want(s.consume(), 0, "parked 3")
	s.want(s.holdfast("show", queue, "never-1"), 0, "exhausted", "attempt 3, lap 0", "1 time, last as ")
	s.want(s.holdfast("replay", queue, "--error", "BOOM", "--refuse-keys", "orders.*"), 1,
		"refused #4", `key matches "orders.*"`, "replayed 0, kept 6 (refused 3, not matching 3)")
}

func (s *scene) discardsAndExports() {
	s.t.Helper()
	s.want(s.holdfast("discard", queue, "--id", "bad-1"), 2, "discarding 1 of 6", "give --yes")
	s.want(s.holdfast("discard", queue, "--id", "bad-1", "--yes"), 0, "discarded 1, kept 5")
	file := filepath.Join(s.t.TempDir(), "parked.jsonl")
	s.want(s.holdfast("export", queue, "--file", file, "--reason", "verdict", "--remove"), 0, "exported 2, kept 3")
	content, err := os.ReadFile(file)
	s.ok(err)
	for line := range strings.Lines(string(content)) {
		var e triage.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || !strings.HasPrefix(e.MessageID, "bad-") || string(e.Body) != `{"kind":"bad"}` {
			s.t.Errorf("exported %+v, %v", e, err)
		}
	}
	s.wantDepth(parked, 3)
}

func (s *scene) resumes() {
	s.t.Helper()
	s.want(s.holdfast("resume", queue), 0, "moving 3 of 3 held messages", "resumed 3, kept 0, failed 0")
	s.wantDepth(queue, 3)
	for _, m := range s.drain(queue) {
		if m.Headers["x-holdfast-lap"] != int64(1) || m.RoutingKey != queue && m.RoutingKey != "orders.created" {
			s.t.Errorf("resumed with key %q and headers %v", m.RoutingKey, m.Headers)
		}
	}
}
