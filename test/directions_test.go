package test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-mq/holdfast"

// servers begin the import paths of what only tests and programs may use.
var servers = []string{"github.com/nats-io/nats-server"}

// programs are the parts of this module that are for its commands and tests.
var programs = []string{"/internal/app", "/internal/cli", "/internal/demo", "/internal/embedded", "/test"}

// TestDirections keeps the tree what it says it is: whoever imports the root
// and one driver compiles no other driver, no server and no command line. What
// they compile of other modules is TestDeps' business.
func TestDirections(t *testing.T) {
	t.Parallel()
	for _, pkg := range importable(t) {
		name := strings.TrimPrefix(pkg, module)
		for _, dep := range deps(t, pkg) {
			switch {
			case strings.HasPrefix(dep, module):
				if forbidden(name, strings.TrimPrefix(dep, module)) {
					t.Errorf("%s imports %s", pkg, dep)
				}
			case isServer(dep):
				t.Errorf("%s brings the server %s to its users", pkg, dep)
			case !hasList(name):
				t.Errorf("%s brings %s to its users", pkg, dep)
			}
		}
	}
}

// TestDirections_of_tests keeps servers out of the tests of importable
// packages too: a user who runs them downloads what they import.
func TestDirections_of_tests(t *testing.T) {
	t.Parallel()
	for _, dep := range deps(t, append([]string{"-test"}, importable(t)...)...) {
		if isServer(dep) {
			t.Errorf("a test of an importable package imports %s: it belongs under test/", dep)
		}
	}
}

func isServer(dep string) bool {
	return slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(dep, s) })
}

// forbidden reports whether package name may not use package dep of this
// module.
func forbidden(name, dep string) bool {
	driver := func(p string) bool {
		return strings.HasPrefix(p, "/broker/") && p != "/broker/brokertest" && p != "/broker/membroker" ||
			strings.HasPrefix(p, "/store/") && p != "/store/storetest"
	}
	switch {
	case name == dep:
		return false
	case slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(dep, p) }):
		return true
	case driver(dep):
		return true
	case name == "" || name == "/broker":
		return dep != "/broker" && dep != "/internal/bounds"
	case name == "/store":
		return true
	default:
		return false
	}
}

func importable(t *testing.T) (packages []string) {
	t.Helper()
	for _, pkg := range list(t, "{{.ImportPath}}", module+"/...") {
		name := strings.TrimPrefix(pkg, module)
		part, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		if !slices.Contains([]string{"internal", "test", "cmd", "examples", "bench"}, part) {
			packages = append(packages, pkg)
		}
	}
	return packages
}

// deps lists what is not in the standard library, on one platform, since some
// modules choose their packages by it.
func deps(t *testing.T, args ...string) []string {
	t.Helper()
	return list(t, "{{if not .Standard}}{{.ImportPath}}{{end}}", append([]string{"-deps"}, args...)...)
}

func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
