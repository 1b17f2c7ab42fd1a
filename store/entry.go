package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Validate says what of an entry no store can keep, as [ErrConfig] with the
// field and what is wanted. Stores ask before they send anything: an error of
// the database could cost the caller the transaction.
func (e *Entry) Validate() error {
	refuse := func(field, want string) error {
		return fmt.Errorf("%w: entry %q: %s: %s", ErrConfig, e.ID, field, want)
	}
	switch year := e.NotBefore.UTC().Year(); {
	case !IsID(e.ID):
		return refuse("ID", "want a UUID in lower-case letters")
	case e.Lane < 0 || e.Lane >= Lanes:
		return refuse("Lane", fmt.Sprintf("%d: want 0 to %d", e.Lane, Lanes-1))
	case len(e.Keys) < 1 || len(e.Keys) > MaxKeys:
		return refuse("Keys", fmt.Sprintf("%d of them: want 1 to %d", len(e.Keys), MaxKeys))
	case year < 1 || year > 9999:
		return refuse("NotBefore", "want a year from 1 to 9999")
	}
	if field := e.notText(); field != "" {
		return refuse(field, "want UTF-8 without a zero byte")
	}
	return nil
}

// notText names the first field that cannot be kept as text.
func (e *Entry) notText() string {
	fields := []struct{ name, text string }{
		{"Destination", e.Destination},
		{"OrderingKey", e.OrderingKey},
		{"Type", e.Type},
		{"ContentType", e.ContentType},
	}
	for _, key := range e.Keys {
		fields = append(fields, struct{ name, text string }{"Keys", key})
	}
	for name, value := range e.Headers {
		fields = append(fields, struct{ name, text string }{"Headers", name}, struct{ name, text string }{"Headers", value})
	}
	for _, f := range fields {
		if !utf8.ValidString(f.text) || strings.ContainsRune(f.text, 0) {
			return f.name
		}
	}
	return ""
}

// IsID tells a UUID in its canonical form, as the ids of rows have it.
func IsID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}
