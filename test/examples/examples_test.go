package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tests are which test of this package runs which example.
var tests = map[string]string{
	"embedded": "TestEmbedded", "everybroker": "TestEverybroker", "orders": "TestOrders", "rabbitmq": "TestRabbitMQ", "sidecar": "TestSidecar", "unittest": "its own",
}

func TestEachExample_is_run_by_a_test(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && tests[e.Name()] == "" {
			t.Errorf("no test runs examples/%s", e.Name())
		}
	}
}

func TestEachExample_passes_vet(t *testing.T) {
	vet := exec.Command("go", "vet", "./examples/...")
	vet.Dir = root
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
