package rabbitmq

import (
	"net"
	"sync/atomic"
	"time"
)

// socket bounds every read and every write of a connection. The client's own
// deadlines do not do: it sets none for writes, and its read deadline is moved
// by a goroutine that stands still while a write hangs. Deadlines that it asks
// for are therefore not passed on.
type socket struct {
	net.Conn
	limit atomic.Int64 // per operation, in nanoseconds; 0 is none
}

// bound sets what each further operation may take.
func (s *socket) bound(limit time.Duration) { s.limit.Store(int64(limit)) }

func (s *socket) Read(p []byte) (int, error) {
	if limit := s.limit.Load(); limit > 0 {
		if err := s.Conn.SetReadDeadline(time.Now().Add(time.Duration(limit))); err != nil {
			return 0, err
		}
	}
	return s.Conn.Read(p)
}

func (s *socket) Write(p []byte) (int, error) {
	if limit := s.limit.Load(); limit > 0 {
		if err := s.Conn.SetWriteDeadline(time.Now().Add(time.Duration(limit))); err != nil {
			return 0, err
		}
	}
	return s.Conn.Write(p)
}

func (*socket) SetDeadline(time.Time) error      { return nil }
func (*socket) SetReadDeadline(time.Time) error  { return nil }
func (*socket) SetWriteDeadline(time.Time) error { return nil }
