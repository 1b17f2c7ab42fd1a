package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBaseline(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.declareFaulty("orders")
		file := filepath.Join(t.TempDir(), "accepted.json")
		c.want(c.examine("--only", missingExchange, "--write-baseline", file), 1, "1 reason to fill in")
		c.want(c.examine("--write-baseline", file), 2, "exists and stays as it is")
		c.want(c.examine("--baseline", file), 2, "has no reason", "has no owner")

		fillIn(t, file, `"reason": ""`, `"reason": "it moves in May"`, `"owner": ""`, `"owner": "billing"`)
		c.want(c.examine("--only", missingExchange, "--baseline", file), 0, "nothing found (1 accepted)", "it moves in May (billing, until")

		// Another fault of the same kind is not swept along.
		c.declareFaulty("payments")
		c.want(c.examine("--only", missingExchange, "--baseline", file), 1, "payments", "1 error, 0 warnings (1 accepted)")

		c.remove("payments")
		c.remove("orders")
		c.want(c.examine("--only", missingExchange, "--baseline", file), 0, "accepts nothing that is found: remove it")
		c.want(c.examine("--only", "HF002", "--baseline", file), 0, "nothing found; ran 1 check")

		c.declareFaulty("orders")
		fillIn(t, file, day(t, file), "2026-01-31")
		c.want(c.examine("--only", missingExchange, "--baseline", file), 1, "expired on 2026-01-31", "1 error, 0 warnings;")
	})
}

func (c *clinic) remove(queue string) {
	c.t.Helper()
	if _, err := c.ch.QueueDelete(queue, false, false, false); err != nil {
		c.t.Fatal(err)
	}
}

// fillIn replaces texts, given in pairs.
func fillIn(t *testing.T, file string, pairs ...string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(content))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// day is the first one in a baseline.
func day(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), `"expires": "`)
	d, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no day in %s", content)
	}
	return d
}
