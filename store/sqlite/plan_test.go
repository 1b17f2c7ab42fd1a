package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlans proves that no statement that runs all the time looks at published
// rows, however many there are: each walks the index that was made for it.
func TestPlans(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "plans.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	for name, statement := range map[string]string{
		"candidates": candidatesSQL, "promote": promoteSQL, "claim": claimSQL, "record": recordSQL, "due": dueSQL, "scheduled": scheduledSQL,
		"stuck": `SELECT count(*)` + stuckFrom + ` AND ` + overSQL, "groups": groupsSQL, "prune": pruneSQL,
	} {
		plan := explain(t, s, statement)
		t.Logf("%s:\n%s", name, plan)
		for line := range strings.Lines(plan) {
			if strings.Contains(line, "SCAN") && strings.Contains(line, "holdfast_outbox") && !strings.Contains(line, "USING") {
				t.Errorf("%s reads the whole table: %s", name, line)
			}
			if strings.Contains(line, "SCAN holdfast_relays") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func explain(t *testing.T, s *Store, statement string) string {
	t.Helper()
	args := make([]any, strings.Count(statement, "?"))
	for i := range args {
		args[i] = "[]"
	}
	highest := 0
	for n := 1; n < 10; n++ {
		if strings.Contains(statement, "?"+string(rune('0'+n))) {
			highest = n
		}
	}
	if highest > 0 {
		args = args[:highest]
	}
	lines, err := collect(context.Background(), s.reader, "explaining", func(row scanner) (string, error) {
		var id, parent, unused int
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, "EXPLAIN QUERY PLAN "+s.sql(statement), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	return strings.Join(lines, "\n")
}
