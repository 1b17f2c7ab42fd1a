package postgres

import (
	"strings"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/store"
)

const notText = "want UTF-8 without a zero byte"

// isText tells what PostgreSQL can keep as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// asText makes text of what a broker said.
func asText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// uuids leaves out what can be no row's id, and would fail the statement.
func uuids(ids []string) []string {
	valid := []string{} // not nil: a filter of ids that none has selects nothing
	for _, id := range ids {
		if store.IsID(id) {
			valid = append(valid, id)
		}
	}
	return valid
}
