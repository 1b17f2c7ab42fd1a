package rabbitmq

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readAhead is what one read takes of what has arrived. The client itself
	// asks for 4 KiB at a time.
	readAhead = 32 << 10

	// corkSize is what a corked socket gathers before it writes.
	corkSize = 32 << 10
)

// socket bounds every read and every write of a connection. The client's own
// deadlines do not do: it sets none for writes, and its read deadline is moved
// by a goroutine that stands still while a write hangs. Deadlines that it asks
// for are therefore not passed on.
type socket struct {
	net.Conn
	limit atomic.Int64 // per operation, in nanoseconds; 0 is none
	ahead *bufio.Reader

	clock   sync.Mutex // held while a write's deadline is set
	patient bool

	// mu is held for as long as a write takes. Close does not need it, so that
	// a write that hangs can be ended.
	mu     sync.Mutex
	corks  int
	out    []byte
	broken error // what was gathered could not be written whole
}

func newSocket(raw net.Conn) *socket {
	s := &socket{Conn: raw}
	s.ahead = bufio.NewReaderSize(wire{s}, readAhead)
	return s
}

// bound sets what each further operation may take.
func (s *socket) bound(limit time.Duration) { s.limit.Store(int64(limit)) }

// wait lets writes take as long as they need, the one under way too, or bounds
// them again. A broker that blocks a connection reads nothing from it until
// its alarm is over: a body larger than the buffers on the way hangs for as
// long, and to give up the connection would charge a crash to every message
// that waits to be settled, and end in the same place with the next one. Reads
// stay bounded: the broker's heartbeats show that it lives.
func (s *socket) wait(on bool) {
	s.clock.Lock()
	defer s.clock.Unlock()
	s.patient = on
	_ = s.setWriteDeadline() // it fails only on a closed socket
}

// setWriteDeadline is for a write that starts, or goes on, now. It is called
// with clock held.
func (s *socket) setWriteDeadline() error {
	limit := s.limit.Load()
	if limit == 0 || s.patient {
		return s.Conn.SetWriteDeadline(time.Time{})
	}
	return s.Conn.SetWriteDeadline(time.Now().Add(time.Duration(limit)))
}

// Read is called from one goroutine.
func (s *socket) Read(p []byte) (int, error) { return s.ahead.Read(p) }

// wire reads from the network, past what was read ahead.
type wire struct{ *socket }

func (s wire) Read(p []byte) (int, error) {
	if limit := s.limit.Load(); limit > 0 {
		if err := s.Conn.SetReadDeadline(time.Now().Add(time.Duration(limit))); err != nil {
			return 0, err
		}
	}
	return s.Conn.Read(p)
}

// Write writes, or gathers while the socket is corked.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out)+len(p) > corkSize {
		s.flush()
	}
	switch {
	case s.broken != nil:
		return 0, s.broken
	case s.corks == 0 || len(p) > corkSize:
		return s.write(p)
	}
	s.out = append(s.out, p...)
	return len(p), nil
}

// cork gathers what anyone writes until uncork, so that many small frames
// need one system call. Between the two nobody may wait for an answer.
func (s *socket) cork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.corks++
}

// uncork writes what was gathered, also when somebody else gathers still:
// who uncorks is about to wait for the answers. After an error the connection
// is of no use any more.
func (s *socket) uncork() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.corks--
	s.flush()
	return s.broken
}

func (s *socket) flush() {
	if len(s.out) == 0 || s.broken != nil {
		return
	}
	_, s.broken = s.write(s.out)
	s.out = s.out[:0]
}

func (s *socket) write(p []byte) (int, error) {
	s.clock.Lock()
	err := s.setWriteDeadline()
	s.clock.Unlock()
	if err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

func (*socket) SetDeadline(time.Time) error      { return nil }
func (*socket) SetReadDeadline(time.Time) error  { return nil }
func (*socket) SetWriteDeadline(time.Time) error { return nil }

// plain hides from the client that its stream has deadlines. It would wake a
// goroutine for each frame to move one.
type plain struct{ io.ReadWriteCloser }
