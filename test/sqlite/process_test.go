package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/store"
	driver "github.com/holdfast-mq/holdfast/store/sqlite"
)

const (
	roleEnv = "HOLDFAST_SQLITE_TEST_ROLE"
	pathEnv = "HOLDFAST_SQLITE_TEST_PATH"

	// patience is how long a test waits for what must happen.
	patience = 2 * time.Minute
)

// process is this test binary in a role, on a file.
type process struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	lines  chan string // what it prints; closed when it has ended
	stderr bytes.Buffer
}

func start(t *testing.T, role, path string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), lines: make(chan string, 1<<16)}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+role, pathEnv+"="+path)
	p.cmd.Stderr = &p.stderr
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(output); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// line returns the next line that it prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			t.Fatalf("it ended: %v\n%s", p.cmd.Wait(), p.stderr.String())
		}
		return l
	case <-time.After(patience):
		t.Fatalf("it prints nothing for %v", patience)
		return ""
	}
}

// kill ends it with SIGKILL and returns what else it has printed.
func (p *process) kill() (rest []string) {
	if p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	for l := range p.lines {
		rest = append(rest, l)
	}
	_ = p.cmd.Wait()
	return rest
}

// end closes its input, which tells it to go, and returns what else it printed.
func (p *process) end(t *testing.T) (rest []string) {
	t.Helper()
	p.input.Close()
	for l := range p.lines {
		rest = append(rest, l)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, p.stderr.String())
	}
	return rest
}

// play is what the second process does.
func play(role string) int {
	ctx := context.Background()
	path := os.Getenv(pathEnv)
	s, err := driver.Open(ctx, driver.Config{Path: path})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	switch role {
	case "produce":
		err = produce(ctx, path)
	case "handle":
		err = handle(ctx, s)
	case "wait":
		err = wait(ctx, s)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// produce commits rows in transactions of its own until it is killed, and
// prints the id of each that is committed.
func produce(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "_txlock=immediate&_pragma=busy_timeout(60000)"))
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		e := newEntry(0)
		if err = (driver.Layout{}).Tx(tx).AddOutbox(ctx, []store.Entry{e}); err == nil {
			err = tx.Commit()
		}
		if err != nil {
			return err
		}
		fmt.Println(e.ID)
	}
}

const handled = 200 // messages

// handle records the same messages as every other process of its role, once it
// is told to, and prints those of which it was the first.
func handle(ctx context.Context, s *driver.Store) error {
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	for i := range handled {
		id := fmt.Sprintf("m-%d", i)
		var first bool
		err := s.WithInbox(ctx, func(tx store.InboxTx) (err error) {
			first, _, err = tx.RecordInbox(ctx, store.Handled{Consumer: "billing", ID: id})
			return err
		})
		if err != nil {
			return err
		}
		if first {
			fmt.Println(id)
		}
	}
	return nil
}

// wait looks and waits until a row is committed.
func wait(ctx context.Context, s *driver.Store) error {
	if _, err := s.Due(ctx, nil); err != nil {
		return err
	}
	fmt.Println("ready")
	if err := s.Wait(ctx, time.Hour); err != nil {
		return err
	}
	fmt.Println("woken")
	return nil
}
