package conformance

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets several cases run at once, unless told otherwise: they mostly
// wait, for rungs and for the server.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}
