package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-mq/holdfast/store"
)

func TestErrorsHaveTheirClass(t *testing.T) {
	for code, want := range map[string]error{
		"53100": store.ErrFull, "25006": store.ErrFull, "53300": store.ErrUnreachable, "57P01": store.ErrUnreachable,
		"08006": store.ErrUnreachable, "58030": store.ErrUnreachable, "42P01": store.ErrSchema, "42703": store.ErrSchema,
		"3F000": store.ErrSchema, "55P03": store.ErrBusy, "57014": store.ErrBusy, "40001": store.ErrBusy, "40P01": store.ErrBusy,
		"42501": store.ErrRefused, "28P01": store.ErrRefused, "22021": store.ErrConfig, "54000": store.ErrConfig,
		"XX000": store.ErrRefused,
	} {
		err := classify("testing", "", fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")}, net.ErrClosed} {
		if err := classify("testing", "", lost); !errors.Is(err, store.ErrUnreachable) {
			t.Errorf("%v: %v", lost, err)
		}
	}
	if err := classify("testing", "", context.Canceled); !errors.Is(err, context.Canceled) || hasClass(err) {
		t.Errorf("a cancelled context: %v", err)
	}
	if err := classify("testing", "", nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}

func TestStatementsAreShownWithoutValues(t *testing.T) {
	for query, want := range map[string]string{
		`UPDATE t1 SET a = 'it''s secret', b = 42 WHERE c = $1`: `UPDATE t1 SET a = ?, b = ? WHERE c = $1`,
		`SELECT E'a\'secret' || "Col1", 1.5`:                    `SELECT ? || "Col1", ?`,
		`SELECT $tag$secret$tag$, $$secret$$`:                   `SELECT ?, ?`,
		`SELECT 'cut off secre`:                                 `SELECT ?`,
		`SELECT $$cut off secre`:                                `SELECT ?`,
		"SELECT 1 -- secret\nFROM t /* secret */":               `SELECT ? ? FROM t ?`,
		`SELECT x'ff', U&'secret', b'01'`:                       `SELECT ?, ?, ?`,
		"a\n\t b":                                               `a b`,
		strings.Repeat("ą", 300):                                strings.Repeat("ą", 200),
	} {
		if got := withoutValues(query); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// TestLiterals proves that nothing of a text can end its literal.
func TestLiteralsHoldOnlyPlainCharacters(t *testing.T) {
	for _, text := range []string{"", "plain-1.2_a", `'; DROP TABLE x; --`, `\'`, "żółw", "a\nb", "$1", "{entries}"} {
		inner := strings.NewReplacer("convert_from(decode('", "", "', 'base64'), 'UTF8')", "", "'::text", "", "'", "").Replace(literal(text))
		for _, c := range inner {
			if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/+ -=", c) {
				t.Errorf("%q becomes %s", text, literal(text))
			}
		}
		if strings.Count(literal(text), "'") > 6 {
			t.Errorf("%q becomes %s", text, literal(text))
		}
	}
}

// TestScripts proves that a printed script names every table, and nothing
// outside its layout.
func TestScriptsNameTheirLayout(t *testing.T) {
	for _, down := range []bool{false, true} {
		script, err := Script(Layout{Schema: "billing", Prefix: "hf_"}, down)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"outbox", "relays", "leases", "inbox", "marks", "set_aside", "migrations"} {
			if !strings.Contains(script, "billing.hf_"+table) {
				t.Errorf("down %v: there is no billing.hf_%s in\n%s", down, table, script)
			}
		}
		if strings.Contains(script, "{{") || strings.Contains(script, "goose") {
			t.Errorf("down %v:\n%s", down, script)
		}
	}
}
