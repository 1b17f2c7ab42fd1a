package inbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/inbox"
)

const workerEnv = "HOLDFAST_INBOX_WORKER"

// job is what a second process is told, as JSON in workerEnv.
type job struct {
	At address

	// Messages are handled one after the other, without a broker, after a line
	// came on the standard input.
	Messages int

	// AMQP and Queue are consumed until SIGTERM. Killed is a folder with a file
	// for each message that has killed its process.
	AMQP, Queue, Killed string
}

func (j job) work() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := j.At.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if j.Queue == "" {
		return s.race(ctx, j.Messages)
	}
	return s.consume(ctx, j)
}

// race handles the messages as fast as it can, and prints how many it applied.
func (s *service) race(ctx context.Context, messages int) error {
	fmt.Println("ready")
	if _, err := fmt.Scanln(new(string)); err != nil {
		return err
	}
	count := map[inbox.Outcome]int{}
	for i := range messages {
		r, err := s.handle(ctx, inbox.ID{Message: fmt.Sprint(i)}, nil)
		if err != nil {
			return err
		}
		count[r.Outcome]++
	}
	fmt.Println(count[inbox.Applied], count[inbox.Duplicate])
	return nil
}

// first is true once for each message, over all processes.
func (j job) first(id string) bool {
	f, err := os.OpenFile(filepath.Join(j.Killed, id), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

// How a message kills its first consumer.
const (
	killsBeforeCommit = "before-commit"
	killsBeforeAck    = "before-ack"
)

func (s *service) consume(ctx context.Context, j job) error {
	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: j.AMQP})
	if err != nil {
		return err
	}
	defer func() { _ = rmq.Close() }()
	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue: j.Queue, Prefetch: 4, Policy: holdfast.Policy{Crashes: 100},
		Handler: func(ctx context.Context, m *holdfast.Message) error {
			dies := func(when string) {
				if string(m.Body) == when && j.first(m.ID) {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			}
			_, err := s.handle(ctx, inbox.Of(m), func() error {
				dies(killsBeforeCommit)
				return nil
			})
			dies(killsBeforeAck)
			return err
		},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// process is a second process of this test binary.
type process struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
}

func start(t *testing.T, j job) *process {
	t.Helper()
	told, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), workerEnv+"="+string(told))
	p.Stderr = &p.errs
	in, inErr := p.StdinPipe()
	out, outErr := p.StdoutPipe()
	if err := errors.Join(inErr, outErr, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%v\n%s", err, p.Wait(), p.errs.String())
	}
	return line
}

func TestOnce_in_two_processes(t *testing.T) {
	each(t, func(t *testing.T, at address, s *service) {
		const messages = 50
		racers := []*process{start(t, job{At: at, Messages: messages}), start(t, job{At: at, Messages: messages})}
		for _, p := range racers {
			p.line(t) // it is ready
		}
		for _, p := range racers {
			fmt.Fprintln(p.in, "go")
		}
		applied, duplicates := 0, 0
		for _, p := range racers {
			var a, d int
			if _, err := fmt.Sscan(p.line(t), &a, &d); err != nil {
				t.Fatal(err)
			}
			applied, duplicates = applied+a, duplicates+d
			if err := p.Wait(); err != nil {
				t.Errorf("%v\n%s", err, p.errs.String())
			}
		}
		if applied != messages || duplicates != messages {
			t.Errorf("%d applied, %d duplicates of %d messages", applied, duplicates, messages)
		}
		s.same(t, numbers(messages)...)
	})
}

func numbers(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}
