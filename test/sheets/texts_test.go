package sheets

import (
	"strings"
	"time"
)

// none is a ladder without a rung: one attempt.
var none = []time.Duration{}

// contains reports whether any of the texts is in out.
func contains(out string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(out, text) {
			return true
		}
	}
	return false
}
