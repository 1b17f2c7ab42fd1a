package conformance

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/holdfast-mq/holdfast/test/conformance/ledger"
)

// tableFile names a file that gets the table too. It is for whoever runs many
// packages at once: go test shows nothing of a package that passes.
const tableFile = "HOLDFAST_CONFORMANCE"

// found is what docs/conformance.md is compared with, or with -update is written
// from.
var found ledger.Run

// TestMain lets several cases run at once, unless told otherwise: they mostly
// wait, for rungs and for the server. At the end it prints what came of it, and
// compares it with the ledger.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8")
	}
	code := m.Run()
	if err := show(&results, os.Getenv(tableFile)); err != nil {
		fmt.Fprintln(os.Stderr, "the table:", err)
		code = max(code, 1)
	}
	os.Exit(found.End(code))
}

func show(tb *table, path string) error {
	if err := tb.write(os.Stdout); err != nil || path == "" {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = tb.write(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
