package rabbitmq

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// A write that hangs ends after the limit, unless the broker has said why it
// reads nothing; then it has the limit again once the broker reads.
func TestSocketWaitsForABlockedBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := newSocket(ours)
		defer s.Close()
		const limit = 4 * time.Second
		s.bound(limit)
		written := func() (took time.Duration) {
			began := time.Now()
			if _, err := s.Write([]byte("a")); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("written: %v", err)
			}
			return time.Since(began)
		}
		if took := written(); took != limit {
			t.Errorf("it gave up after %v", took)
		}
		const after, alarm = time.Second, time.Hour
		time.AfterFunc(after, func() { s.wait(true) })
		time.AfterFunc(after+alarm, func() { s.wait(false) })
		if took := written(); took != after+alarm+limit {
			t.Errorf("during an alarm it gave up after %v", took)
		}
		s.wait(true)
		time.AfterFunc(alarm, func() { s.wait(false) })
		if took := written(); took != alarm+limit {
			t.Errorf("begun during an alarm it gave up after %v", took)
		}
	})
}

// reads collects what arrives, one element for each write.
func reads(c net.Conn) <-chan string {
	all := make(chan string, 16)
	go func() {
		defer close(all)
		buffer := make([]byte, 2*corkSize)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			all <- string(buffer[:n])
		}
	}()
	return all
}

func put(t *testing.T, s *socket, text string) {
	t.Helper()
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
}

func TestCorkedSocketWritesInOnePiece(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	s := newSocket(ours)
	defer s.Close()
	pieces := reads(theirs)
	want := func(text string) {
		t.Helper()
		if got := await(t, pieces); got != text {
			t.Errorf("arrived: %d bytes, want %d", len(got), len(text))
		}
	}
	s.cork()
	put(t, s, "a")
	put(t, s, "b")
	s.cork() // somebody else
	put(t, s, "c")
	if err := s.uncork(); err != nil {
		t.Fatal(err)
	}
	want("abc")
	large, huge := strings.Repeat("d", corkSize-1), strings.Repeat("f", corkSize+1)
	put(t, s, large)
	put(t, s, "ee")
	want(large)
	put(t, s, huge)
	want("ee")
	want(huge)
	put(t, s, "g")
	if err := s.uncork(); err != nil {
		t.Fatal(err)
	}
	want("g")
	put(t, s, "h")
	want("h")
}

// What was gathered and not written whole leaves the stream broken.
func TestCorkedSocketThatCannotWrite(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	theirs.Close()
	s := newSocket(ours)
	s.cork()
	put(t, s, "a")
	if err := s.uncork(); err == nil {
		t.Error("the loss was not told")
	}
	if _, err := s.Write([]byte("b")); err == nil {
		t.Error("it was written after a loss")
	}
}

func TestSocketReadsAhead(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	s := newSocket(ours)
	defer s.Close()
	text := strings.Repeat("0123456789", readAhead/4)
	go func() {
		_, _ = theirs.Write([]byte(text))
		theirs.Close()
	}()
	got, err := io.ReadAll(iotest.HalfReader(s))
	if err != nil || string(got) != text {
		t.Errorf("read %d bytes of %d, %v", len(got), len(text), err)
	}
}
