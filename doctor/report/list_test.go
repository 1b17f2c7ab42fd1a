package report

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/doctor"
)

var update = flag.Bool("update", false, "write the list of checks in docs/doctor.md anew")

const (
	listBegin = "<!-- checks: go test ./doctor/report -run List -update -->\n"
	listEnd   = "<!-- end of the checks -->"
)

// TestListOfChecks keeps docs/doctor.md complete. After a change that is meant:
// go test ./doctor/report -run List -update.
func TestListOfChecks(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "doctor.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), listBegin)
	_, after, ok2 := strings.Cut(rest, listEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the list", path)
	}
	want := before + listBegin + list(t) + listEnd + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s does not have the checks as they are: go test ./doctor/report -run List -update", path)
	}
}

func list(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| id | finds | severity | looks at | runbook |\n|---|---|---|---|---|\n")
	for _, c := range doctor.Checks() {
		page := ""
		if c.Runbook != "" {
			name, _, _ := strings.Cut(c.Runbook, "#")
			page = fmt.Sprintf("[%s](runbooks/%s)", strings.TrimSuffix(name, ".md"), c.Runbook)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, strings.ReplaceAll(c.Title, "|", `\|`), severities(t, c.ID), c.Needs, page)
	}
	b.WriteString("\n")
	return b.String()
}

// severities are those that the file of a check names or, where it names none,
// what of the package it uses. A check does not say them itself:
// they are part of each finding.
func severities(t *testing.T, id string) string {
	t.Helper()
	src := parseDoctor(t)
	nodes := src.files[strings.ToLower(id)]
	for depth := 0; depth < 3; depth++ {
		named, used := map[string]bool{}, map[string]bool{}
		for _, n := range nodes {
			identifiers(n, named, used)
		}
		var names []string
		for _, s := range []string{"Info", "Warning", "Error"} {
			if named[s] {
				names = append(names, strings.ToLower(s))
			}
		}
		if len(names) > 0 {
			return strings.Join(names, ", ")
		}
		nodes = nil
		for name := range used {
			nodes = append(nodes, src.defined[name]...)
		}
	}
	t.Errorf("%s names no severity in a file %s_*.go of its own, nor in what that uses", id, strings.ToLower(id))
	return ""
}

// source is package doctor: the files of checks by their ids in lower case, and
// its functions, methods and variables by their names.
type source struct {
	files   map[string][]ast.Node
	defined map[string][]ast.Node
}

func parseDoctor(t *testing.T) source {
	t.Helper()
	src := source{map[string][]ast.Node{}, map[string][]ast.Node{}}
	paths, err := filepath.Glob(filepath.Join("..", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(filepath.Base(path), "_")
		src.files[id] = append(src.files[id], file)
		for _, d := range file.Decls {
			src.add(d)
		}
	}
	return src
}

func (s source) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.defined[d.Name.Name] = append(s.defined[d.Name.Name], d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				s.defined[v.Names[0].Name] = append(s.defined[v.Names[0].Name], v)
			}
		}
	}
}

// identifiers collects the plain ones, and the names behind a dot apart: the
// Error of an error is no severity.
func identifiers(root ast.Node, plain, selected map[string]bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			selected[n.Sel.Name] = true
			identifiers(n.X, plain, selected)
			return false
		case *ast.Ident:
			plain[n.Name], selected[n.Name] = true, true
		}
		return true
	})
}
