package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFingerprintJoinsEqualFailures(t *testing.T) {
	t.Parallel()
	groups := [][]string{
		{"customer 4711 is unknown", "customer 12 is unknown"},
		{`no field "name"`, `no field "street address"`, `no field "unfinished`},
		{"order 7c9e6679-7425-40de-944b-e07fc1f90ae7 is closed", "order 01J9ZQ3V5K7M is closed"},
		{"dial tcp 10.0.0.1:5432: refused", "dial tcp 192.168.7.12:80: refused"},
		{"dial tcp [2001:db8::1]:5432: no route", "dial tcp [fe80::42:1]:80: no route"},
		{"no mailbox a.b@example.org", "no mailbox x@y.test"},
		{"get http://a.test/x?y=z failed", "get https://b.test failed"},
		{"at 0xc000123456", "at 0xdeadbeef1"},
		{"spaces   and\nlines", "spaces and lines"},
		{strings.Repeat("long ", 200) + "a", strings.Repeat("long ", 200) + "b"},
	}
	seen := map[string]string{}
	for _, group := range groups {
		want := Fingerprint("q", ReasonVerdict, "T", group[0])
		for _, text := range group[1:] {
			if got := Fingerprint("q", ReasonVerdict, "T", text); got != want {
				t.Errorf("%q and %q are two groups: %q, %q", group[0], text, normalize(group[0]), normalize(text))
			}
		}
		if other, twice := seen[want]; twice {
			t.Errorf("%q and %q are one group", group[0], other)
		}
		seen[want] = group[0]
	}
}

func TestFingerprintTellsFailuresApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range []string{
		Fingerprint("q", ReasonVerdict, "T", "it's closed"),
		Fingerprint("q", ReasonVerdict, "T", "it's open"),
		Fingerprint("q2", ReasonVerdict, "T", "it's closed"),
		Fingerprint("q", ReasonExhausted, "T", "it's closed"),
		Fingerprint("q", ReasonVerdict, "T2", "it's closed"),
		Fingerprint("q", ReasonVerdict, "", "it's closed"),
	} {
		if seen[f] || len(f) != 16 {
			t.Errorf("%q is there twice, or has no 16 digits", f)
		}
		seen[f] = true
	}
}

type evilError struct{}

func (evilError) Error() string { panic("text") }
func (evilError) Unwrap() error { panic("cause") }

func TestFingerprintOfAnyError(t *testing.T) {
	t.Parallel()
	cause := errors.New("closed")
	if a, b := fingerprintOf("q", ReasonVerdict, Park(fmt.Errorf("order %d: %w", 1, cause))), fingerprintOf("q", ReasonVerdict, Park(fmt.Errorf("order %d: %w", 2, cause))); a != b {
		t.Errorf("one failure has two: %s, %s", a, b)
	}
	for _, err := range []error{nil, evilError{}, Park(nil), Park(evilError{})} {
		if fingerprintOf("q", ReasonVerdict, err) == "" {
			t.Errorf("%T has none", err)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("customer 4711 \"x\" of a@b.c at http://x/y\xff")
	f.Fuzz(func(t *testing.T, text string) {
		once := normalize(text)
		if len(text) <= maxFingerprinted && strings.ContainsAny(once, "0123456789") {
			t.Errorf("%q keeps a digit: %q", text, once)
		}
	})
}

// TestFingerprint_of_long_texts has ids of different lengths before the cut.
func TestFingerprint_of_long_texts(t *testing.T) {
	long := strings.Repeat(" the bank said no", 100)
	if Fingerprint("q", ReasonVerdict, "", "order 7:"+long) != Fingerprint("q", ReasonVerdict, "", "order 123456:"+long) {
		t.Error("an id of another length is another group")
	}
}
