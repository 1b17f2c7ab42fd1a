package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a running server on one folder. Its methods may be called
// concurrently.
type Server struct {
	dir   string
	url   string
	nats  *server.Server
	lock  *lock
	voice *voice
	close func() error
}

// Start starts a server on the folder dir, which it makes with access for
// nobody else where it does not exist, and returns when JetStream is ready and
// everything that the folder holds was read. The errors name the folder and
// what to do; [ErrInUse] is the one that a caller may want to know.
func Start(dir string, o Options) (*Server, error) {
	opts := &server.Options{
		ServerName: "holdfast-embedded",
		JetStream:  true,
		NoSigs:     true, // signals are the program's
	}
	if err := o.apply(opts); err != nil {
		return nil, err
	}
	dir, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	opts.StoreDir = dir
	l, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, lock: l, voice: new(voice)}
	s.close = sync.OnceValue(s.stop)
	if s.nats, err = server.NewServer(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: the broker on %s: %w", dir, err), l.release())
	}
	s.nats.SetLogger(s.voice, false, false)
	if err := s.start(o.wait()); err != nil {
		return nil, err
	}
	s.voice.passOn(o.Logger)
	return s, nil
}

func makeFolder(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("embedded: a folder must be named")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("embedded: %w", err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("embedded: %s is a file; the broker needs a folder", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("embedded: the folder cannot be made: %w", err)
	}
	return dir, nil
}

// start waits until the server is ready and tells the lock file where it
// listens. When it fails, everything is closed.
func (s *Server) start(wait time.Duration) error {
	started := make(chan struct{})
	go func() {
		defer close(started)
		s.nats.Start()
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-started:
	case <-timer.C:
		// The lock is kept until reading has ended: nobody else may open the
		// folder under it.
		go func() {
			<-started
			_ = s.Close()
		}()
		return fmt.Errorf("embedded: the broker on %s is not ready after %v: it is still reading what it holds", s.dir, wait)
	}
	err := s.check()
	if err == nil {
		err = s.lock.describe(s.url)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// check finds out whether the server runs whole: it reports what keeps it from
// that by its log alone.
func (s *Server) check() error {
	if why := s.voice.fatalLine(); why != "" {
		return fmt.Errorf("embedded: the broker on %s did not start: %s", s.dir, why)
	}
	if !s.nats.JetStreamEnabled() {
		return fmt.Errorf("embedded: the broker on %s did not start: no JetStream; %s", s.dir, s.voice.lines())
	}
	if addr := s.nats.Addr(); addr != nil {
		s.url = "nats://" + addr.String()
	}
	return s.checkRestored()
}

// InProcessConn returns a new connection to the server that uses no network,
// as nats.InProcessServer asks for. After Close it returns an error.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// URL is where other processes of this machine reach the server; empty without
// a listener.
func (s *Server) URL() string { return s.url }

// Dir is the folder, as an absolute path.
func (s *Server) Dir() string { return s.dir }

// Close stops the server cleanly and then lets go of the folder. Connections
// end; clients should be closed first. A further call waits for the first and
// returns the same.
func (s *Server) Close() error { return s.close() }

func (s *Server) stop() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return s.lock.release()
}
