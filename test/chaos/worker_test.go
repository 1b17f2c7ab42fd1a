package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

const workerEnv = "HOLDFAST_CHAOS_WORKER"

// job is what a worker process is told, as JSON in workerEnv.
type job struct {
	URL, Queue, Ledger string
}

// order is a message of the poison test. Kind says what it does to its
// consumer.
type order struct {
	ID   int
	Kind string
}

const (
	kindGood  = "good"
	kindFails = "fails" // always
	kindTwice = "twice" // fails twice, then works
	kindKills = "kills" // kills the process
)

func chaosPolicy() holdfast.Policy {
	return holdfast.Policy{
		Ladder:  []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond},
		Crashes: 3,
	}
}

// work is the consumer process. It writes a line to the ledger for each
// message that is done, in one append, so that a kill leaves whole lines.
func work() int {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &j); err != nil {
		return failed(err)
	}
	ledger, err := os.OpenFile(j.Ledger, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return failed(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: j.URL})
	if err != nil {
		return failed(err)
	}
	defer func() { _ = rmq.Close() }()
	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue: j.Queue, Policy: chaosPolicy(),
		Handler: holdfast.JSON(func(_ context.Context, o order, m *holdfast.Message) error {
			err := handle(o, m)
			if err == nil { // before the acknowledgement: a kill may come between the two
				fmt.Fprintf(ledger, "done %s %d\n", m.ID, m.Attempt)
			}
			return err
		}),
		Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
			if e.Kind == holdfast.EventDone && e.Crashes > 0 {
				fmt.Fprintf(ledger, "charged %s %d\n", e.MessageID, e.Crashes)
			}
		}),
	})
	if err != nil {
		return failed(err)
	}
	if err := c.Run(ctx); err != nil {
		return failed(err)
	}
	books := c.Books()
	if !books.Balanced() || books.InFlight != 0 {
		return failed(fmt.Errorf("books: %+v", books))
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "worker:", err)
	return 1
}

func handle(o order, m *holdfast.Message) error {
	switch o.Kind {
	case kindFails:
		return errors.New("it never works")
	case kindTwice:
		if m.Attempt < 3 {
			return fmt.Errorf("attempt %d does not work", m.Attempt)
		}
	case kindKills:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// restartUntil runs worker processes, one after the other, until done is
// closed, and returns how many were killed.
func restartUntil(t *testing.T, j job, done <-chan struct{}) (killed int) {
	t.Helper()
	told, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var stderr bytes.Buffer
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"="+string(told))
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the worker ended by itself: %v\n%s", err, stderr.String())
			}
			killed++
		case <-done:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := <-ended; err != nil {
				t.Errorf("the worker did not stop in order: %v\n%s", err, stderr.String())
			}
			return killed
		}
	}
}

// entry is what the ledger says of one message that is done.
type entry struct {
	times, attempt, crashes int
}

func readLedger(t *testing.T, path string) map[string]entry {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	entries := map[string]entry{}
	for line := range strings.Lines(string(content)) {
		var what, id string
		var n int
		if _, err := fmt.Sscan(line, &what, &id, &n); err != nil {
			t.Fatalf("ledger line %q: %v", line, err)
		}
		e := entries[id]
		if what == "done" {
			e.times, e.attempt = e.times+1, n
		} else {
			e.crashes = max(e.crashes, n)
		}
		entries[id] = e
	}
	return entries
}
