// Package embedded kills processes that have an embedded broker, and looks for
// what they left behind.
package embedded

import (
	"fmt"
	"os"
	"testing"
)

// roleEnv makes the test binary a process with an embedded broker on the
// folder of dirEnv.
const (
	roleEnv = "HOLDFAST_EMBEDDED_ROLE"
	dirEnv  = "HOLDFAST_EMBEDDED_DIR"
)

// roles are what such a process may do. It ends when its input ends, so that
// none is left over.
var roles = map[string]func(dir string) error{
	"publish": publishOrders,
	"listen":  listen,
	"consume": consumeOrders,
}

func TestMain(m *testing.M) {
	role, dir := os.Getenv(roleEnv), os.Getenv(dirEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](dir); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
}
