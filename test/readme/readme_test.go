// Package readme does what the README says, as it is typed there.
package readme

import (
	"bytes"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var fence = regexp.MustCompile("(?s)```(sh|go)\n(.*?)```")

// block returns the n-th fenced block of a language in the README.
func block(t *testing.T, language string, n int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != language {
			continue
		}
		if n == 0 {
			return m[2]
		}
		n--
	}
	t.Fatalf("the README has no such block of %s", language)
	return ""
}

func TestTheConsumerCompilesAsWritten(t *testing.T) {
	dir, err := os.MkdirTemp(filepath.Join(root, "test", "readme"), "written")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(block(t, "go", 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", "./"+filepath.Base(dir)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheFirstCommandWorksAsTyped leaves out the second, which is what runs
// this.
func TestTheFirstCommandWorksAsTyped(t *testing.T) {
	first, second, _ := strings.Cut(strings.TrimSpace(block(t, "sh", 0)), "\n")
	if !strings.HasPrefix(second, "make test ") || strings.Contains(second, "\n") {
		t.Errorf("the second command is %q", second)
	}
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", first)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"300 orders come in", "0 lost", "The books balance", "go run ./cmd/holdfast demo --keep"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

func TestEveryLinkLeadsToAFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := link.FindAllStringSubmatch(string(text), -1)
	for _, m := range links {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Error(err)
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links were found", len(links))
	}
}

func TestThePictureMovesAndIsSmall(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "docs", "media", "demo.gif"))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := gif.DecodeAll(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if len(picture.Image) < 20 || len(content) > 1_500_000 {
		t.Errorf("%d frames in %d bytes", len(picture.Image), len(content))
	}
}
