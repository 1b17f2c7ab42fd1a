package membroker_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets many cases of the suite run at once, unless told otherwise:
// they wait for rungs and holds and hardly compute.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "16")
	}
	os.Exit(m.Run())
}
