package triage

import (
	"fmt"
	"regexp"
	"strings"
)

// Glob is a pattern over a whole routing key: * stands for any run of
// characters, dots and slashes included, and ? for one.
type Glob struct {
	text string
	re   *regexp.Regexp
}

// ParseGlob reads a pattern. # is refused: it is a wildcard of AMQP bindings,
// and taken as a letter it would quietly match nothing, which for a pattern
// that keeps credentials from being replayed is the wrong way to fail.
func ParseGlob(s string) (Glob, error) {
	switch {
	case s == "":
		return Glob{}, fmt.Errorf("triage: an empty pattern matches nothing; write * for every key")
	case strings.Contains(s, "#"):
		return Glob{}, fmt.Errorf("triage: pattern %q: # is not a wildcard here; write * for any run of characters", s)
	}
	quoted := regexp.QuoteMeta(s)
	quoted = strings.ReplaceAll(quoted, `\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\?`, `.`)
	re, err := regexp.Compile(`(?s)\A` + quoted + `\z`)
	if err != nil {
		return Glob{}, fmt.Errorf("triage: pattern %q: %w", s, err)
	}
	return Glob{text: s, re: re}, nil
}

// Match reports whether the pattern matches the whole key. The zero Glob
// matches nothing.
func (g Glob) Match(key string) bool { return g.re != nil && g.re.MatchString(key) }

// String returns the pattern as it was written.
func (g Glob) String() string { return g.text }

func matchAny(globs []Glob, key string) (Glob, bool) {
	for _, g := range globs {
		if g.Match(key) {
			return g, true
		}
	}
	return Glob{}, false
}
