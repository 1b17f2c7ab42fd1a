package demo

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func scan(r io.Reader, lines chan<- string) {
	defer close(lines)
	for s := bufio.NewScanner(r); s.Scan(); {
		lines <- s.Text()
	}
}

// charges counts the orders that the service has charged.
func charges(dir string) int {
	content, _ := os.ReadFile(filepath.Join(dir, "ledger"))
	return strings.Count(string(content), "\ncharged ")
}

func TestKilledAtAnyMomentItEndsTheSameWay(t *testing.T) {
	t.Parallel()
	for name, reached := range map[string]func(s *started, dir string){
		"while orders come in": func(s *started, _ string) { s.await("orders come in") },
		"while it charges": func(s *started, dir string) {
			testenv.Eventually(s.t, aMinute, "some orders are charged", func() bool { return charges(dir) > 20 })
		},
		"in the outage":    func(s *started, _ string) { s.await("billing is down") },
		"after the outage": func(s *started, _ string) { s.await("billing is back") },
		"in the replay":    func(s *started, _ string) { s.await("replaying") },
		"after the replay": func(s *started, dir string) {
			s.await("replaying")
			testenv.Eventually(s.t, aMinute, "some are replayed and charged", func() bool { return charges(dir) > 264 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := start(t, "--dir", dir)
			reached(s, dir)
			if code := s.end(syscall.SIGKILL); code != -1 {
				t.Fatalf("it ended by itself with exit code %d", code)
			}
			had := charges(dir)
			b := ended(t, "--dir", dir)
			t.Logf("killed with %d charged; then %+v", had, b)
			if n := charges(dir); n != 277 {
				t.Errorf("%d are charged", n)
			}
		})
	}
}

func TestKilledAgainAndAgainItEndsTheSameWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := 30; n <= 90; n += 30 {
		s := start(t, "--dir", dir)
		testenv.Eventually(t, aMinute, "it goes on", func() bool { return charges(dir) >= n })
		s.end(syscall.SIGKILL)
	}
	ended(t, "--dir", dir)
	if b := ended(t, "--dir", dir); b.Received != 0 || charges(dir) != 277 {
		t.Errorf("a run after the end did something: %+v", b)
	}
}

func TestASignalStopsItAndItGoesOnLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "--dir", dir)
	s.await("billing is down")
	began := time.Now()
	if code := s.end(syscall.SIGTERM); code != 1 {
		t.Errorf("exit code %d after %v", code, time.Since(began))
	}
	if b := ended(t, "--dir", dir); b.Duplicates != 0 {
		t.Errorf("a stop in order left duplicates: %+v", b)
	}
}
