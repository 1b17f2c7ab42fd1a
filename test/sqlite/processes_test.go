package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-mq/holdfast/store"
	driver "github.com/holdfast-mq/holdfast/store/sqlite"
)

// migrated returns a store on a new file with tables.
func migrated(t *testing.T) (s *driver.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	s = open(t, driver.Config{Path: path})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, path
}

func open(t *testing.T, c driver.Config) *driver.Store {
	t.Helper()
	s, err := driver.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestProducersAreKilled proves that what was committed is there, and nothing
// is broken, when processes are killed while they write.
func TestProducersAreKilled(t *testing.T) {
	s, path := migrated(t)
	var committed []string
	for range 3 {
		var producers []*process
		for range 2 {
			producers = append(producers, start(t, "produce", path))
		}
		for _, p := range producers {
			for range 10 {
				committed = append(committed, p.line(t))
			}
		}
		for _, p := range producers {
			committed = append(committed, p.kill()...)
		}
	}
	rows, err := s.List(t.Context(), store.Filter{Limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.ID] = true
	}
	for _, id := range committed {
		if store.IsID(id) && !there[id] { // the last line may be half a line
			t.Errorf("%s was committed and is not there", id)
		}
	}
	t.Logf("%d ids printed, %d rows", len(committed), len(rows))
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var verdict string
	if err := openDB(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the file is %q, %v", verdict, err)
	}
}

// TestProcessesHandleTheSame proves that of processes that handle the same
// messages at once, one is the first of each.
func TestProcessesHandleTheSame(t *testing.T) {
	s, path := migrated(t)
	var handlers []*process
	for range 3 {
		p := start(t, "handle", path)
		p.line(t)
		handlers = append(handlers, p)
	}
	for _, p := range handlers {
		p.input.Close()
	}
	var firsts []string
	for _, p := range handlers {
		firsts = append(firsts, p.end(t)...)
	}
	slices.Sort(firsts)
	if len(firsts) != handled || len(slices.Compact(firsts)) != handled {
		t.Errorf("%d were the first, want %d, each once", len(firsts), handled)
	}
	inboxes, err := s.Inboxes(t.Context())
	if err != nil || len(inboxes) != 1 || inboxes[0].Count != handled || inboxes[0].Duplicates != 2*handled {
		t.Errorf("the inbox has %+v, %v", inboxes, err)
	}
}

// TestWaitSeesOtherProcesses proves that a relay is woken by a commit of
// another process, and that it was asleep before.
func TestWaitSeesOtherProcesses(t *testing.T) {
	s, path := migrated(t)
	p := start(t, "wait", path)
	p.line(t)
	select {
	case l := <-p.lines:
		t.Fatalf("it printed %q before anything was committed", l)
	default:
	}
	if _, err := s.Beat(context.Background(), store.Relay{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	if got := p.line(t); got != "woken" {
		t.Errorf("it printed %q", got)
	}
}
