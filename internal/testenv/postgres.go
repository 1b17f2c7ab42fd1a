package testenv

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Postgres is a private PostgreSQL that the tests may break.
type Postgres struct {
	// URL leads to the database postgres as the superuser, with credentials.
	URL string

	script string // path of scripts/postgres, or "" for a server that somebody else runs
}

// NeedPostgres returns the server. Where it does not run, NeedPostgres records that and skips the test.
func NeedPostgres(t testing.TB) Postgres {
	t.Helper()
	const name = "postgres"
	env, err := currentSettings()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	p := Postgres{URL: env.get("HOLDFAST_POSTGRES")}
	if services := env.get("HOLDFAST_SERVICES"); services != "" {
		p.script = filepath.Join(filepath.Dir(services), name)
	}
	if p.URL == "" {
		Skip(t, name, "not running (make services)")
	}
	if err := accepts(p.URL); err != nil {
		Skip(t, name, err.Error())
	}
	return p
}

// Kill ends the server with SIGKILL. When the test ends it is started again, should the test not have done so.
func (p Postgres) Kill(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { p.Start(t) })
	p.run(t, "kill")
}

// Start starts the server after Kill, on its port and with its data, and returns when it is ready. Of one that runs it
// does nothing.
func (p Postgres) Start(t testing.TB) {
	t.Helper()
	p.run(t, "start")
}

func (p Postgres) run(t testing.TB, verb string) {
	t.Helper()
	if p.script == "" {
		Skip(t, "postgres", "not run by scripts/postgres, so it cannot be told to "+verb)
	}
	ctx, cancel := context.WithTimeout(context.Background(), serviceTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.script, verb)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("testenv: postgres %s: %v\n%s", verb, err, &out)
	}
}
