package cli

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of the writer's own connection

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// newStored is a fake with a database of its own.
func newStored(t *testing.T) (*fake, *sql.DB) {
	t.Helper()
	f := newFake(t)
	path := filepath.Join(t.TempDir(), "box.db")
	getenv := f.env.Getenv
	f.env.Getenv = func(name string) string {
		if name == "HOLDFAST_STORE" {
			return "sqlite:" + path
		}
		return getenv(name)
	}
	f.env.OpenStore = app.OpenStore
	f.want(f.run("migrate"), exitOK, "as this version expects")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return f, db
}

// write commits what do writes.
func write(t *testing.T, db *sql.DB, do func(tx *sqlite.Tx) error) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(sqlite.Layout{}.Tx(tx)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

const rowID = "0198c7d2-5f0e-7b7a-9f0a-3c2f0b1d4e5"

func addRows(t *testing.T, db *sql.DB, destination, key string, n int) {
	t.Helper()
	write(t, db, func(tx *sqlite.Tx) error {
		for i := range n {
			m := outbox.Message{
				ID: fmt.Sprint(rowID, i), Destination: destination, Key: key, Type: "order.placed",
				Headers: map[string]string{"tenant": "acme"}, Payload: []byte(`{"n":1}`), ContentType: "application/json",
			}
			if err := outbox.Add(t.Context(), tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestStoreUsage(t *testing.T) {
	f, _ := newStored(t)
	for line, want := range map[string]string{
		"outbox list --state lost":              "pending, publishing, published, failed or all",
		"outbox list --class bored":             "unrouted, missing",
		"outbox list --limit 0":                 "number of rows",
		"outbox show":                           "needs one id",
		"outbox rearm":                          "which rows?",
		"outbox rearm --all --state pending":    "failed or publishing",
		"outbox rearm --all --state published":  "never published again",
		"outbox prune --batch 0":                "number of rows",
		"outbox list --older-than -1s":          "is an age",
		"setaside redrive":                      "which messages?",
		"setaside drop":                         "needs the ids",
		"setaside list --limit 0":               "number of messages",
		"migrate --print --check":               "none of the others can be",
		"relay --batch 9999":                    "Batch must be",
		"relay --fail-after 1s":                 "FailAfter",
		"relay --log xml":                       "--log is text or json",
		"outbox status --store mysql://h/db":    "postgres://user:password@host/database or sqlite:FILE",
		"outbox status --schema x":              "SQLite has no schemas",
		"outbox status --store sqlite:a?mode=x": "no question mark",
	} {
		f.want(f.run(strings.Fields(line)...), exitUsage, want)
	}
	r := f.run("outbox", "status", "--store", "postgres://u:secret@127.0.0.1:1/d")
	f.want(r, exitUnreachable, "connection refused", "check that the database is up")
	if strings.Contains(r.errOut, `\t`) {
		t.Errorf("a tab is shown as an escape: %s", r.errOut)
	}
	f.env.Getenv = func(string) string { return "" }
	f.want(f.run("outbox", "status"), exitUsage, "which database?")
}

func TestMigrate(t *testing.T) {
	f, db := newStored(t)
	f.want(f.run("migrate"), exitOK)
	f.want(f.run("migrate", "--check"), exitOK)
	r := f.run("migrate", "--print")
	f.want(r, exitOK, "CREATE TABLE holdfast_outbox")
	f.want(f.run("migrate", "--print", "--store", "postgres:", "--schema", "billing", "--prefix", "x_"), exitOK, "billing", "x_outbox")
	addRows(t, db, "shop", "order.placed", 2)
	f.want(f.run("migrate", "--down"), exitUsage, "2 rows of the outbox were never published", "give --yes")
	f.want(f.run("migrate", "--down", "--yes"), exitOK, "the tables are gone")
	f.want(f.run("outbox", "status"), exitUsage, "holdfast migrate")
	f.want(f.run("migrate", "--check"), exitUsage)
	if _, err := db.Exec(r.out); err != nil {
		t.Errorf("the printed script: %v", err)
	}
	f.want(f.run("migrate", "--check"), exitOK)
}

func TestOutbox(t *testing.T) {
	f, db := newStored(t)
	f.want(f.run("outbox", "status"), exitOK, "the outbox is empty", "no relay")
	f.Bind("shop", "order.placed", "orders")
	addRows(t, db, "shop", "nobody.listens", 3)
	f.want(f.run("outbox", "status"), exitOK, "pending", "shop", "3")
	f.want(f.run("relay", "--until-idle", "100ms", "--log-level", "error"), exitOK, "claimed 3: published 0, failed 3")
	f.want(f.run("outbox", "status"), exitOK, "failed", "unrouted", "3")
	f.want(f.run("outbox", "list"), exitOK, rowID+"0", rowID+"2", "nobody.listens", "unrouted")
	f.want(f.run("outbox", "list", "--class", "refused"), exitOK)
	f.want(f.run("outbox", "show", rowID+"0"), exitOK, "failed", "order.placed", "tenant: acme", `{"n":1}`, "unrouted")
	f.want(f.run("outbox", "show", rowID+"0", "--output", "json"), exitOK, `"payload_text":"{\"n\":1}"`, `"class":"unrouted"`)
	f.want(f.run("outbox", "show", rowID+"9"), exitIncomplete)
	f.want(f.run("outbox", "stuck"), exitOK, "0 rows being published")
	f.want(f.run("outbox", "rearm", rowID+"0", "--dry-run"), exitOK, "would arm at most 1 row")
	f.want(f.run("outbox", "rearm", rowID+"0", rowID+"9"), exitIncomplete, "armed 1 row again", "1 of the ids")
	f.want(f.run("outbox", "rearm", "--class", "unrouted", "--limit", "1"), exitOK, "the first 1 only", "armed 1 row again")
	f.want(f.run("outbox", "rearm", "--class", "unrouted"), exitOK, "armed 1 row again")
	f.want(f.run("outbox", "rearm", "--class", "unrouted"), exitOK, "armed 0 rows again")
	f.Bind("shop", "nobody.listens", "orders")
	f.want(f.run("relay", "--until-idle", "100ms", "--output", "json"), exitOK, `"published":3`)
	f.depth("orders", 3)
	archive := filepath.Join(t.TempDir(), "archive.jsonl")
	f.want(f.run("outbox", "prune", "--older-than", "0s", "--batch", "2", "--archive", archive), exitOK, "removed 3 published rows")
	f.want(f.run("outbox", "prune", "--archive", archive), exitUsage, "exists")
	f.want(f.run("outbox", "status"), exitOK, "the outbox is empty")
}

func TestSetAside(t *testing.T) {
	f, db := newStored(t)
	f.want(f.run("setaside"), exitOK, "nothing is set aside")
	for i := range 3 {
		write(t, db, func(tx *sqlite.Tx) error {
			return inbox.SetAside(t.Context(), tx, "billing", &holdfast.Message{
				ID: fmt.Sprint("m-", i), Type: "payment.made", Body: []byte("pay"), ContentType: "text/plain",
				Headers: map[string]any{"tenant": "acme", "n": int32(7)}, Origin: broker.Origin{Queue: "orders", Exchange: "shop", Key: "payment"},
			}, "no_order", "order 17 is not there yet")
		})
	}
	f.want(f.run("setaside"), exitOK, "billing", "no_order", "payment.made", "3")
	r := f.run("setaside", "list", "--output", "json", "--limit", "1")
	f.want(r, exitOK, `"message_id":"m-0"`)
	_, id, _ := strings.Cut(r.out, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	f.want(f.run("setaside", "show", id), exitOK, "no_order", "order 17 is not there yet", "tenant: acme", "pay")
	f.want(f.run("setaside", "redrive", "--reason", "no_order", "--dry-run"), exitOK, "would give back 3 messages")
	f.want(f.run("setaside", "redrive", id), exitOK, "gave back 1 of 1 message")
	m := f.Messages("orders")[0].Message
	if m.ID != "m-0" || string(m.Body) != "pay" || m.Headers["n"] != int32(7) || m.Headers[broker.HeaderReplayID] == nil || m.Type != "payment.made" {
		t.Errorf("%+v", m)
	}
	f.want(f.run("setaside", "redrive", id), exitIncomplete, "1 of the ids")
	f.want(f.run("setaside", "redrive", "--all", "--to-queue", "nowhere"), exitIncomplete)
	f.want(f.run("setaside", "redrive", "--consumer", "billing", "--limit", "1"), exitOK, "the first 1 only", "gave back 1 of 1")
	f.want(f.run("setaside", "redrive", "--consumer", "billing", "--output", "json"), exitOK, `"moved":1`)
	f.depth("orders", 3)
	f.want(f.run("setaside", "drop", id), exitUsage, "give --yes")
	f.want(f.run("setaside", "drop", id, "--yes"), exitIncomplete, "removed 0 messages")
}
