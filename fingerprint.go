package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxFingerprinted is how much of an error's text tells failures apart, in
// bytes. What comes later is mostly a stack, or the message itself.
const maxFingerprinted = 512

// maxNormalized is how much of a text is read for that, in bytes.
const maxNormalized = 8 << 10

// Fingerprint names the group that a failure belongs to: the consumer's queue,
// the reason, the type of the error and its text without what differs from one
// message to the next. Numbers, ids, quoted parts and addresses are replaced, and
// only the first 512 bytes count. It is 16 hexadecimal digits, so that it can be
// shown anywhere: the text cannot be had from it.
//
// errorType may be empty where it is not known, as in a capture: such
// fingerprints compare with one another only.
func Fingerprint(queue string, reason Reason, errorType, text string) string {
	h := sha256.New()
	for _, part := range [...]string{queue, string(reason), errorType, normalize(text)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// varying is what differs between equal failures, the longest forms first.
var varying = regexp.MustCompile(strings.Join([]string{
	"\"[^\"]*\"?|\\B'[^']*'|`[^`]*`?",              // quoted
	`[[:alpha:]][[:alnum:]+.-]*://\S+`,             // a URL
	`[^\s@<>]+@[^\s@<>]+`,                          // a mail address
	`\b[0-9a-fA-F]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*`, // IPv6, a time
	`\b[[:alnum:]_-]*[0-9][[:alnum:]_-]*\b`,        // a number, a UUID, any id with a digit in it
}, "|"))

// normalize replaces what differs between equal failures.
func normalize(text string) string {
	text = text[:min(len(text), maxNormalized)]
	text = strings.Join(strings.Fields(varying.ReplaceAllString(strings.ToValidUTF8(text, ""), "#")), " ")
	return text[:min(len(text), maxFingerprinted)] // only now: ids of different lengths would move the cut
}

// fingerprintOf reads an error of any kind: one whose methods panic still has a
// group.
func fingerprintOf(queue string, reason Reason, err error) string {
	text, _ := describe(err)
	return Fingerprint(queue, reason, rootType(err), text)
}

// rootType is the type of the innermost error: the outer ones are mostly
// fmt's, or a verdict.
func rootType(err error) (name string) {
	name = fmt.Sprintf("%T", err)
	defer func() { _ = recover() }()
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		name = fmt.Sprintf("%T", inner)
	}
	return name
}
