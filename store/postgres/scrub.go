package postgres

import (
	"regexp"
	"strings"
)

// queryLimit is the most characters of a statement that are shown.
const queryLimit = 200

// values are what a statement may have in it: texts of each kind of quote, which
// the server may have cut off before their end, and numbers. A parameter ($1)
// and a name (t1) are none.
var values = regexp.MustCompile(`(?s)(?:[eEbBxXnN]|[uU]&)?'(?:[^'\\]|''|\\.)*(?:'|\\?$)|\$[A-Za-z_]*\$.*?(?:\$[A-Za-z_]*\$|$)|/\*.*?(?:\*/|$)|--[^\n]*|[A-Za-z_$][A-Za-z0-9_$]*|[0-9]+(?:\.[0-9]+)?`)

// withoutValues shows a statement's shape, and nothing of what it carries.
func withoutValues(query string) string {
	query = values.ReplaceAllStringFunc(query, func(found string) string {
		if isName(found) {
			return found
		}
		return "?"
	})
	runes := []rune(strings.Join(strings.Fields(query), " "))
	return string(runes[:min(len(runes), queryLimit)])
}

// isName tells a name or a parameter among what values finds.
func isName(found string) bool {
	return !strings.ContainsRune("0123456789/-'", rune(found[0])) &&
		!strings.Contains(found, "'") && strings.Count(found, "$") < 2
}
