package sheets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/doctor"
)

const pages = "../../docs/runbooks"

// sections are what every page has, in this order: the shape in which a person
// who was woken finds things.
var sections = []string{"Failure", "Blast radius", "Detection", "Recovery", "Prevention"}

var fence = regexp.MustCompile("(?sm)^ *```sh\n(.*?)^ *```")

// block returns the n-th block of commands in a section of a page.
func block(t *testing.T, page, section string, n int) string {
	t.Helper()
	text := read(t, page)
	_, rest, ok := strings.Cut(text, "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", page, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	blocks := fence.FindAllStringSubmatch(rest, -1)
	if n >= len(blocks) {
		t.Fatalf("%s, %s: there is no block %d", page, section, n)
	}
	return outdent(blocks[n][1])
}

// outdent takes the indent of a list from a block: a here-document must end at
// the beginning of its line.
func outdent(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return strings.ReplaceAll("\n"+text, "\n"+indent, "\n")[1:]
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pages, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func all(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil || len(paths) != 10 {
		t.Fatalf("there are %d pages, want nine and the index: %v", len(paths), err)
	}
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

var heading = regexp.MustCompile(`(?m)^## (.+)$`)

func TestEveryPageHasTheShapeOfASheet(t *testing.T) {
	for _, page := range all(t) {
		if page == "index.md" {
			continue
		}
		var have []string
		for _, m := range heading.FindAllStringSubmatch(read(t, page), -1) {
			have = append(have, m[1])
		}
		if strings.Join(have, ", ") != strings.Join(sections, ", ") {
			t.Errorf("%s has the sections %v, want %v", page, have, sections)
		}
		if text := read(t, page); !strings.Contains(text, "What a user sees:") || !strings.Contains(text, "**Does not:**") {
			t.Errorf("%s does not say what a user sees, or what does not exist", page)
		}
		if !strings.Contains(read(t, "index.md"), "]("+page+")") {
			t.Errorf("the index does not lead to %s", page)
		}
	}
}

var check = regexp.MustCompile(`HF\d\d\d`)

func TestEveryCheckThatAPageNamesExists(t *testing.T) {
	known := map[string]bool{}
	for _, c := range doctor.Checks() {
		known[c.ID] = true
	}
	for _, page := range all(t) {
		for _, id := range check.FindAllString(read(t, page), -1) {
			if !known[id] {
				t.Errorf("%s: there is no check %s", page, id)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)`)

func TestEveryLinkLeadsToAFile(t *testing.T) {
	for _, page := range all(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(filepath.Join(pages, m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
