package jetstream

import (
	"strconv"
	"strings"
)

// NATS headers carry lines: the client turns a line break into a space and
// trims the ends. Error texts have both, so that a capture's values are
// written percent-encoded where they must be, and read back as they were.

func escape(s string) string {
	if !strings.ContainsFunc(s, special) && strings.TrimSpace(s) == s {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if special(rune(c)) || c == ' ' && (i == 0 || i == len(s)-1) {
			b.WriteByte('%')
			b.WriteString(strconv.FormatUint(uint64(c)|0x100, 16)[1:])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func special(r rune) bool { return r < ' ' || r == '%' || r == 0x7f }

// unescape leaves alone what escape would not have written.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
