package sheets

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

const queue = "orders.billing"

// desk is what the person on call sits at: a shell with the variables that the
// index of the runbooks names, at a broker and a database that may be broken.
type desk struct {
	*testing.T
	rmq  testenv.RabbitMQ
	url  string // of the virtual host
	env  map[string]string
	ch   *amqp.Channel // the producer's
	pool *pgxpool.Pool
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	rmq := testenv.Need(t, "rabbitmq4")
	d := &desk{T: t, rmq: rmq, url: rmq.VHost(t)}
	d.env = map[string]string{
		"HOLDFAST_BROKER": d.url, "HOLDFAST_MANAGEMENT": rmq.ManagementURL, "HOLDFAST_STORE": "", "QUEUE": queue, "VHOST": vhostOf(d.url),
	}
	d.must(os.WriteFile(filepath.Join(tools, "rabbitmqctl"),
		[]byte("#!/bin/sh\nexec "+rmq.CtlCommand(t)+" \"$@\"\n"), 0o700)) //nolint:gosec // a command of the test
	d.dial()
	return d
}

func vhostOf(address string) string {
	u, _ := url.Parse(address)
	return strings.TrimPrefix(u.EscapedPath(), "/")
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) dial() {
	d.Helper()
	conn, err := amqp.Dial(d.url)
	d.must(err)
	d.Cleanup(func() { _ = conn.Close() })
	d.ch, err = conn.Channel()
	d.must(err)
	d.must(d.ch.Confirm(false))
}

// withStore gives the desk a database with Holdfast's tables.
func (d *desk) withStore() {
	d.Helper()
	server := testenv.NeedPostgres(d.T).URL
	name := "sheets_" + strings.ToLower(rand.Text()[:10])
	d.sql(server, "CREATE DATABASE "+name)
	d.Cleanup(func() { d.sql(server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(server)
	d.must(err)
	u.Path = "/" + name
	d.env["HOLDFAST_STORE"] = u.String()
	if r := d.shell("holdfast migrate"); r.code != 0 {
		d.Fatal(r)
	}
	d.pool, err = pgxpool.New(d.Context(), u.String())
	d.must(err)
	d.Cleanup(d.pool.Close)
}

func (d *desk) sql(server, statement string) {
	d.Helper()
	db, err := sql.Open("pgx", server)
	d.must(err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(context.Background(), statement)
	d.must(err)
}

// layout is where the tables are.
func layout() postgres.Layout { return postgres.Layout{} }

// place writes a message to the outbox, as a service does.
func (d *desk) place(m outbox.Message) {
	d.Helper()
	tx, err := d.pool.Begin(d.Context())
	d.must(err)
	err = outbox.Add(d.Context(), layout().Tx(tx), m)
	d.must(err)
	d.must(tx.Commit(d.Context()))
}

// result is what came of something typed.
type result struct {
	typed string
	out   string
	code  int
}

func (r result) String() string {
	return fmt.Sprintf("%s\nended with %d:\n%s", strings.TrimSpace(r.typed), r.code, r.out)
}

// typed runs the n-th block of a section, as a person would.
func (d *desk) typed(page, section string, n int) result {
	d.Helper()
	return d.shell(block(d.T, page, section, n))
}

// shell runs commands; each must succeed for the next to run.
func (d *desk) shell(commands string) result {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Env, cmd.Dir = d.environment(), d.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	r := result{typed: commands}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else {
		d.must(err)
	}
	r.out = out.String()
	return r
}

func (d *desk) environment() []string {
	env := append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "AMQP_URL=", "DATABASE_URL=", "NO_COLOR=1")
	for name := range maps.Keys(d.env) {
		env = append(env, name+"="+d.env[name])
	}
	return env
}

// want types a block and wants its exit code and some texts.
func (d *desk) want(page, section string, n, code int, texts ...string) result {
	d.Helper()
	r := d.typed(page, section, n)
	if r.code != code {
		d.Fatalf("exit code %d, want %d: %v", r.code, code, r)
	}
	for _, text := range texts {
		if !strings.Contains(r.out, text) {
			d.Fatalf("%q is not to be seen: %v", text, r)
		}
	}
	return r
}

// becomes types a block again and again until it ends with that code.
func (d *desk) becomes(page, section string, n, code int) result {
	d.Helper()
	var r result
	deadline := time.Now().Add(patience)
	for r = d.typed(page, section, n); r.code != code; r = d.typed(page, section, n) {
		if time.Now().After(deadline) {
			d.Fatalf("not within %v: exit code %d: %v", patience, code, r)
		}
	}
	return r
}

// shows types a block again and again until its output has a text.
func (d *desk) shows(page, section string, n int, text string) {
	d.Helper()
	deadline := time.Now().Add(patience)
	for r := d.typed(page, section, n); !strings.Contains(r.out, text); r = d.typed(page, section, n) {
		if time.Now().After(deadline) {
			d.Fatalf("not within %v: %q: %v", patience, text, r)
		}
	}
}

func (d *desk) eventually(what string, ok func() bool) {
	d.Helper()
	testenv.Eventually(d.T, patience, what, ok)
}
