package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

const workerEnv = "HOLDFAST_OUTBOX_WORKER"

// job is what a relay process is told, as JSON in workerEnv.
type job struct {
	Postgres string
	Schema   string
	SQLite   string
	AMQP     string
	Lease    time.Duration
	Unknown  outbox.UnknownRule
}

func work() int {
	if err := relay(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func relay() error {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &j); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // its end is the end of the test's process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	rows, err := j.open(ctx)
	if err != nil {
		return err
	}
	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: j.AMQP, Heartbeat: 5 * time.Second})
	if err != nil {
		return err
	}
	defer func() { _ = rmq.Close() }()
	r, err := outbox.NewRelay(outbox.RelayConfig{
		Outbox: rows, Broker: rmq, Lease: j.Lease, Default: outbox.Route{Unknown: j.Unknown},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

func (j job) open(ctx context.Context) (store.Outbox, error) {
	if j.SQLite != "" {
		return sqlite.Open(ctx, sqlite.Config{Path: j.SQLite})
	}
	return postgres.Open(ctx, postgres.Config{URL: j.Postgres, Layout: postgres.Layout{Schema: j.Schema}})
}

// startWorker starts a relay process. What it has to say is shown when the
// test fails.
func startWorker(t *testing.T, j job) *exec.Cmd {
	t.Helper()
	told, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(told))
	said, err := os.CreateTemp(t.TempDir(), "relay-*.log")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = said
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && cmd.ProcessState == nil { // what it does is what went wrong
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			_ = cmd.Wait()
		}
		killWorker(cmd)
		text, _ := os.ReadFile(said.Name())
		_ = said.Close()
		if t.Failed() {
			t.Logf("relay %d ended with %v and had said:\n%.40000s", cmd.Process.Pid, cmd.ProcessState, text)
		}
	})
	return cmd
}

// killWorker kills the process and waits for its end. One that has ended
// already is left alone.
func killWorker(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
