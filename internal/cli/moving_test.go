package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

func width(s string) int { return uniseg.StringWidth(strings.TrimRight(s, "\n")) }

func TestReplay(t *testing.T) {
	f := newFake(t)
	f.fill(12)
	f.want(f.run("replay", "orders", "--dry-run", "--reason", "verdict"), exitOK, "dry run: would replay 0 of 12 (not matching 12)")
	f.want(f.run("replay", "orders", "--dry-run"), exitOK, "dry run: would replay 12 of 12")
	f.depth("orders.parked", 12)
	f.want(f.run("replay", "orders", "--limit", "2"), exitOK,
		"orders.parked: replaying 2 of 12 waiting messages to queue orders", "nobody consumes orders",
		"replayed 2, kept 10 (not reached 10), failed 0; replay id ")
	f.want(f.run("replay", "orders"), exitOK, "replayed 10, kept 0, failed 0")
	f.want(f.run("replay", "orders"), exitOK, "replayed 0, kept 0, failed 0")
	f.depth("orders", 12)
}

func TestReplay_says_what_it_refuses(t *testing.T) {
	f := newFake(t)
	f.fill(1)
	f.park("orders.parked", "invitation", func(c *broker.Capture, _ *broker.Message) { c.Origin.Key = "invite.created" })
	f.park("orders.parked", "broken", func(c *broker.Capture, _ *broker.Message) { c.Reason = broker.ReasonMalformed })
	r := f.run("replay", "orders", "--refuse-keys", "invite.*")
	f.want(r, exitIncomplete, "refused #2 invitation", `"invite.*", which is refused`, "refused #3 broken", "malformed",
		"replayed 1, kept 2 (refused 2), failed 0")
	r = f.run("replay", "orders", "--refuse-keys", "invite.*", "--output", "json")
	f.want(r, exitIncomplete, `{"type":"refused","id":"invitation"`)
	var last resultLine
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Refused != 2 || last.Kept != 2 || last.ReplayID == "" {
		t.Errorf("result %+v, %v", last, err)
	}
	f.want(f.run("replay", "orders", "--malformed", "--refuse-keys", "invite.*"), exitIncomplete, "replayed 1, kept 1 (refused 1)")
	f.depth("orders.parked", 1)
}

func TestReplay_into_a_queue_that_is_not_there(t *testing.T) {
	f := newFake(t)
	f.fill(1)
	f.DeleteQueue("orders")
	f.want(f.run("replay", "orders"), exitUsage, "the target orders")
	f.depth("orders.parked", 1)
}

func TestReplay_of_a_copy_that_fails(t *testing.T) {
	f := newFake(t)
	f.fill(3)
	f.RefuseCopies(1)
	f.want(f.run("replay", "orders"), exitIncomplete, "replayed 0, kept 3", "failed 1", "holdfast: ", "run the same command again")
	f.depth("orders.parked", 3)
}

func TestReplay_to_origin_warns(t *testing.T) {
	f := newFake(t)
	f.fill(1)
	f.want(f.run("replay", "orders", "--to", "origin"), exitIncomplete, "every subscriber", "no queue took", "check that the target exists")
	f.Bind("shop", "orders.created", "orders")
	f.want(f.run("replay", "orders", "--to", "origin"), exitOK, "replayed 1")
}

func TestReplay_from_elsewhere(t *testing.T) {
	f := newFake(t)
	f.park("orders.dlq", "mine", nil)
	f.park("orders.dlq", "theirs", func(c *broker.Capture, _ *broker.Message) { c.Origin.Queue = "bills" })
	f.want(f.run("replay", "orders", "--from", "orders.dlq"), exitOK, "replayed 1, kept 1 (of other queues 1)")
	f.want(f.run("replay", "bills", "--from", "orders.dlq", "--to-queue", "orders"), exitOK, "replayed 1, kept 0")
}

func TestReplay_asks_on_a_terminal(t *testing.T) {
	f := newFake(t).terminal()
	f.fill(3)
	r := f.runWith("n\n", "replay", "orders")
	f.want(r, exitIncomplete, "Replay 3 messages? [y/N]", "nothing was done")
	f.depth("orders.parked", 3)
	r = f.runWith("y\n", "replay", "orders", "--limit", "1")
	f.want(r, exitOK, "Replay 1 message? [y/N]", "replayed 1")
	r = f.run("replay", "orders", "--yes")
	f.want(r, exitOK, "replayed 2", "\x1b[K")
	if strings.Contains(r.errOut, "[y/N]") {
		t.Error("asked in spite of --yes")
	}
}

func TestResume(t *testing.T) {
	f := newFake(t)
	held := func(c *broker.Capture, _ *broker.Message) { c.Reason, c.Lap = "", 2 }
	f.park("orders.hold", "held-1", held)
	f.park("orders.hold", "held-2", held)
	f.want(f.run("resume", "orders", "--limit", "1"), exitOK, "moving 1 of 2 held messages back to orders", "resumed 1, kept 1")
	f.want(f.run("resume", "orders"), exitOK, "resumed 1, kept 0, failed 0")
	if m := f.Messages("orders"); len(m) != 2 || m[0].Capture == nil || m[0].Capture.Lap != 2 {
		t.Errorf("back in the queue: %+v", m)
	}
}

func TestDiscard(t *testing.T) {
	f := newFake(t)
	f.fill(3)
	f.want(f.run("discard", "orders"), exitUsage, "discarding 3 of 3", "give --yes")
	f.want(f.run("discard", "orders", "--dry-run"), exitOK, "discarding 3 of 3")
	f.depth("orders.parked", 3)
	f.want(f.run("discard", "orders", "--yes", "--id", "capture-02"), exitOK, "discarding 1 of 3", "discarded 1, kept 2 (not matching 2)")
	f.depth("orders.parked", 2)
	f.terminal()
	f.want(f.runWith("no\n", "discard", "orders"), exitIncomplete, "There is no way back", "nothing was done")
	f.depth("orders.parked", 2)
}

func TestExport(t *testing.T) {
	f := newFake(t)
	f.fill(3)
	dir := t.TempDir()
	r := f.run("export", "orders")
	f.want(r, exitOK, "exported 3 messages")
	if n := strings.Count(r.out, "\n"); n != 3 {
		t.Errorf("%d lines on stdout, want 3", n)
	}
	path := filepath.Join(dir, "orders.jsonl")
	f.want(f.run("export", "orders", "--file", path, "--remove", "--limit", "2"), exitOK, "removing them", "exported 2, kept 1")
	f.depth("orders.parked", 1)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	var e triage.Entry
	if err := json.Unmarshal([]byte(first), &e); err != nil || e.ID != "capture-01" || string(e.Body) != `{"id":"capture-01"}` {
		t.Errorf("entry %+v, %v", e, err)
	}
	f.want(f.run("export", "orders", "--file", path, "--remove"), exitUsage, "exists: give another name")
	f.want(f.run("export", "orders", "--file", filepath.Join(dir, "no", "where")), exitUsage, "no such file or directory")
	f.depth("orders.parked", 1)
}

func TestAnswer(t *testing.T) {
	f := newFake(t)
	f.DeclareQueue("caller")
	request := func(to string) func(*broker.Capture, *broker.Message) {
		return func(_ *broker.Capture, m *broker.Message) { m.ReplyTo, m.CorrelationID = to, "c-1" }
	}
	f.park("orders.parked", "request-1", request("caller"))
	f.park("orders.parked", "request-2", request("caller"))
	f.park("orders.parked", "request-3", request("gone"))
	f.want(f.run("answer", "orders", "request-1", "--body", "42"), exitOK, "answered request-1")
	f.want(f.runWith("from stdin", "answer", "orders", "request-2", "--output", "json"), exitOK, `"verb":"answered"`, `"correlation_id":"c-1"`)
	f.want(f.run("answer", "orders", "request-3", "--body", "42"), exitIncomplete, "the caller is gone", "stays")
	f.want(f.run("answer", "orders", "request-9", "--body", "42"), exitIncomplete, "no such message")
	f.want(f.run("answer", "orders", "request-3", "--file", "/does/not/exist"), exitUsage, "no such file")
	got := f.Messages("caller")
	if len(got) != 2 || string(got[0].Message.Body) != "42" || string(got[1].Message.Body) != "from stdin" {
		t.Errorf("the caller got %+v", got)
	}
	if got[0].Message.ContentType != "application/json" {
		t.Errorf("content type %q, want the request's", got[0].Message.ContentType)
	}
	f.depth("orders.parked", 1)
	f.terminal()
	f.want(f.run("answer", "orders", "request-3"), exitUsage, "what is the answer?")
}
