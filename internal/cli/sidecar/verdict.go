package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
)

// Handler is what both kinds of sidecar are: a responder's handler, which a
// consumer uses without its reply.
type Handler = func(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error)

// verdict is what the other side said of a message. The set is closed; the
// words are those of the Holdfast-Verdict header.
type verdict string

const (
	done    verdict = "done"
	retry   verdict = "retry"
	hold    verdict = "hold"
	park    verdict = "park"
	discard verdict = "discard"
)

// outcome turns a verdict into what a handler returns. A wait of zero is none.
func (v verdict) outcome(err error, wait time.Duration) error {
	switch {
	case v == done:
		return nil
	case v == hold:
		return holdfast.Hold(err)
	case v == park:
		return holdfast.Park(err)
	case v == discard:
		return holdfast.Discard(err)
	case wait > 0:
		return holdfast.RetryAfter(err, wait)
	default:
		return holdfast.Retry(err)
	}
}

var errUnknownVerdict = errors.New("sidecar: Holdfast-Verdict is done, retry, hold, park or discard")

// parseVerdict reads a Holdfast-Verdict header.
func parseVerdict(s string) (verdict, error) {
	switch v := verdict(strings.ToLower(strings.TrimSpace(s))); v {
	case done, retry, hold, park, discard:
		return v, nil
	default:
		return "", fmt.Errorf("%w, not %.40q", errUnknownVerdict, s)
	}
}

// ofStatus is what a status code says where no Holdfast-Verdict does.
//
// Beside the codes that speak of the message (park), of load (hold) and of a
// fault that may pass (retry), all others speak of how the sidecar was set up:
// a wrong path or method, a missing token, a redirect to a login page. No
// message is to blame for that, and a retry would park the whole queue within
// minutes: hold.
func ofStatus(code int, waits bool) verdict {
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if waits {
			return retry
		}
		return hold
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusGone,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		http.StatusRequestHeaderFieldsTooLarge:
		return park
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return retry
	}
	switch code / 100 {
	case 2:
		return done
	case 5:
		return retry
	default:
		return hold
	}
}

// retryAfter reads a Retry-After header, in seconds or as a date. What does
// not read as either counts as absent.
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return time.Duration(max(n, 0)) * time.Second, true
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}

// ofExit is what an exit code says, after sysexits: 65 is bad data, 75 a
// temporary failure. 126 and 127 are the shell's for a command that is not
// there or not executable: the sidecar was set up wrongly, and no message is
// to blame for that.
func ofExit(code int) verdict {
	switch code {
	case 0:
		return done
	case 65:
		return park
	case 75, 126, 127:
		return hold
	default:
		return retry
	}
}
