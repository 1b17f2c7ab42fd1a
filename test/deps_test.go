package test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists of test/deps anew")

// lists names, for each package that may use other modules, the file of
// test/deps that has all that it brings to its users. A driver or a
// store that is new needs a line here.
var lists = map[string]string{
	"":                  "root.txt",
	"/broker":           "broker.txt",
	"/broker/membroker": "membroker.txt",
	"/broker/rabbitmq":  "rabbitmq.txt",
	"/broker/jetstream": "jetstream.txt",
	"/broker/awssqs":    "awssqs.txt",
	"/broker/gcppubsub": "gcppubsub.txt",
	"/broker/rocketmq":  "rocketmq.txt",
	"/store":            "store.txt",
	"/store/postgres":   "postgres.txt",
	"/store/sqlite":     "sqlite.txt",
	"/outbox":           "outbox.txt",
	"/inbox":            "inbox.txt",
	"/topology":         "topology.txt",
	"/doctor":           "doctor.txt",
	"/telemetry":        "telemetry.txt",
	"/alerts":           "alerts.txt",
	"/doctor/report":    "doctor-report.txt",
}

func hasList(name string) bool { return lists[name] != "" }

// TestDeps compares what each of these packages brings with its list, so that
// no user gets another package without somebody having seen it. After a
// change that is meant: go test ./test -run Deps -update.
func TestDeps(t *testing.T) {
	t.Parallel()
	for name, file := range lists {
		got := slices.Sorted(slices.Values(deps(t, module+name)))
		path := filepath.Join("deps", file)
		if *update {
			if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, module+name, got, strings.Fields(string(content)))
	}
}

func compare(t *testing.T, pkg string, got, want []string) {
	t.Helper()
	for _, dep := range got {
		if !slices.Contains(want, dep) {
			t.Errorf("%s brings %s, which is not on its list", pkg, dep)
		}
	}
	for _, dep := range want {
		if !slices.Contains(got, dep) {
			t.Errorf("%s no longer brings %s, which is on its list", pkg, dep)
		}
	}
	if !slices.IsSorted(want) || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Errorf("the list of %s is not sorted, or has a line twice", pkg)
	}
}
