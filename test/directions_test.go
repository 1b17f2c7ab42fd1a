package test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-mq/holdfast"

// allowed says, for each importable package, what of other modules its users
// download with it. A package that is not listed may use the standard library
// and this module only.
var allowed = map[string][]string{
	"/broker/rabbitmq": {"github.com/rabbitmq/amqp091-go"},
}

// TestDirections keeps the tree what it says it is: whoever imports the root
// and one driver compiles no other driver, no server and no command line.
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
			case !slices.Contains(allowed[name], dep):
				t.Errorf("%s brings %s to its users", pkg, dep)
			}
		}
	}
}

// forbidden reports whether package name may not use package dep of this
// module.
func forbidden(name, dep string) bool {
	driver := func(p string) bool {
		return strings.HasPrefix(p, "/broker/") && p != "/broker/brokertest" && p != "/broker/membroker"
	}
	switch {
	case name == dep:
		return false
	case strings.HasPrefix(dep, "/internal/app"), strings.HasPrefix(dep, "/internal/cli"), strings.HasPrefix(dep, "/test"):
		return true
	case driver(dep):
		return true
	case name == "" || name == "/broker":
		return dep != "/broker" && dep != "/internal/bounds"
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

func deps(t *testing.T, pkg string) []string {
	t.Helper()
	return list(t, "{{if not .Standard}}{{.ImportPath}}{{end}}", "-deps", pkg)
}

func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-f", format}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}
