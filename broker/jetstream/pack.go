package jetstream

import (
	"slices"
	"strings"
)

// The client writes fewer headers than a server stores: it refuses names with
// a slash, say, and trims values. What another client has written so travels
// on copies in a header of ours, one "name:value" for each value, so that such
// a message can be retried and parked like any other.

// unwritable are the characters that the client does not take in a name.
const unwritable = "\"()/,:;<=>?@[\\]{}"

func writable(name string, values []string) bool {
	bad := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(unwritable, r) })
	return bad < 0 && !slices.ContainsFunc(values, func(v string) bool { return strings.Trim(v, " \t") != v })
}

func pack(name string, values []string) []string {
	packed := make([]string, len(values))
	for i, v := range values {
		packed[i] = escape(name) + ":" + escape(v) // a name has no colon
	}
	return packed
}

func unpack(packed []string) map[string][]string {
	headers := make(map[string][]string, len(packed))
	for _, p := range packed {
		name, v, _ := strings.Cut(p, ":")
		name = unescape(name)
		headers[name] = append(headers[name], unescape(v))
	}
	return headers
}
