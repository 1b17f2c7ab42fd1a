package holdfast

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/broker"
)

// maxErrorText is where error texts are cut, in bytes. The hash of the whole
// goes with them.
const maxErrorText = 2 << 10

// hostname is asked once; it does not change under a running process.
var hostname = sync.OnceValue(func() string {
	h, _ := os.Hostname()
	return h
})

// newCapture writes the record of a failure: what the decision counts, over
// what an earlier capture already knows. The first failure's origin and time
// are never overwritten.
func newCapture(j *job, now time.Time) *broker.Capture {
	m, d := j.d.Message(), j.decision
	c := broker.Capture{FirstFailedAt: now, FailedAt: now, Origin: m.Origin, Token: m.ID}
	if earlier := j.d.Facts().Capture; earlier != nil {
		c = *earlier
	} else {
		c.ID = captureID(m)
	}
	if c.Trace == "" {
		c.Trace = j.traceParent()
	}
	c.Attempt, c.Lap, c.Crashes, c.Reason = d.attempt, d.lap, d.crashes, d.reason
	c.Host = hostname()
	if j.cause != nil {
		text, cause := describe(j.cause)
		c.FailedAt, c.NotBefore = now, time.Time{}
		c.Error, c.ErrorSHA256 = cutText(text)
		c.Cause, _ = cutText(cause)
	}
	if d.fate == broker.FateDelay && j.after > d.wait {
		c.NotBefore = now.Add(j.after)
	}
	j.captureID = c.ID
	return &c
}

// captureID is the same for every delivery of a message that has an id of its
// own, so that the duplicate after an unknown outcome can be told. Without one
// two equal messages are two messages, and the id is random.
func captureID(m *broker.Message) string {
	if m.ID == "" {
		return rand.Text()
	}
	body := sha256.Sum256(m.Body)
	var room [512]byte
	parts := room[:0]
	for _, part := range [...]string{m.Origin.Queue, m.Origin.Exchange, m.Origin.Key, m.ID} {
		parts = append(strconv.AppendInt(parts, int64(len(part)), 10), ':')
		parts = append(parts, part...)
	}
	parts = append(parts, body[:]...)
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// cutText cuts s at maxErrorText on a character's edge, and returns the
// SHA-256 of the whole when it cut. Bytes that are not text are replaced.
func cutText(s string) (cut, sum string) {
	if len(s) > maxErrorText {
		whole := sha256.Sum256([]byte(s))
		sum = hex.EncodeToString(whole[:])
		end := maxErrorText
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return toValid(s), sum
}

func toValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// causeText is the text of what err wraps beyond its own words: the cause of a
// verdict's cause, as the operator reads it beside the error.
func causeText(err error) string {
	text := err.Error()
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		if t := cause.Error(); t != text {
			return t
		}
	}
	return ""
}
