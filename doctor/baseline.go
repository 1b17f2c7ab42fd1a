package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// BaselineDays is for how many days [NewBaseline] accepts a finding.
const BaselineDays = 90

const baselineVersion = 1

// Baseline is what an examination may find, since somebody has decided so: with
// a reason, an owner, and a day on which the decision is looked at again.
type Baseline struct {
	Version  int          `json:"version"` // 1
	Accepted []Acceptance `json:"accepted"`
}

// Acceptance accepts the findings of one check.
type Acceptance struct {
	ID string `json:"id"`

	// Subject is a pattern over the whole subject: * stands for any run of
	// characters, ? for one, and a backslash takes the meaning from the next.
	Subject string `json:"subject"`

	// Reason is why it is right as it is, and Owner who says so.
	Reason string `json:"reason"`
	Owner  string `json:"owner"`

	// Expires is the last day, in UTC.
	Expires Day `json:"expires"`
}

// Day is a day without a time, written 2026-11-30.
type Day struct {
	Begin time.Time // 00:00 UTC
}

// String returns the day as it is written.
func (d Day) String() string { return d.Begin.Format(time.DateOnly) }

// MarshalText implements [encoding.TextMarshaler].
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Day) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("a day is written 2026-11-30, not %q", text)
	}
	d.Begin = t
	return nil
}

// ParseBaseline reads a baseline. What it does not know is an error, and so is
// an entry without a reason, an owner or an expiry: one that nobody stands for
// is a finding that was swept under the rug. The error names every fault.
func ParseBaseline(content []byte) (*Baseline, error) {
	var b Baseline
	in := json.NewDecoder(bytes.NewReader(content))
	in.DisallowUnknownFields()
	if err := in.Decode(&b); err != nil {
		return nil, fmt.Errorf("doctor: baseline%s: %w", baselineLine(content, err), err)
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("doctor: baseline: something follows its end")
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	return &b, nil
}

// baselineLine says where err is, as far as it tells.
func baselineLine(content []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var offset int64
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	default:
		return ""
	}
	return fmt.Sprintf(", line %d", 1+bytes.Count(content[:offset], []byte("\n")))
}

func (b *Baseline) check() error {
	var errs []error
	if b.Version != baselineVersion {
		errs = append(errs, fmt.Errorf("doctor: baseline: version must be %d, not %d", baselineVersion, b.Version))
	}
	for i, a := range b.Accepted {
		for _, field := range []struct {
			name, value string
		}{{"id", a.ID}, {"subject", a.Subject}, {"reason", a.Reason}, {"owner", a.Owner}} {
			if strings.TrimSpace(field.value) == "" {
				errs = append(errs, fmt.Errorf("doctor: baseline: entry %d (%s, %s) has no %s: fill it in", i+1, a.ID, a.Subject, field.name))
			}
		}
		if a.Expires.Begin.IsZero() {
			errs = append(errs, fmt.Errorf("doctor: baseline: entry %d (%s, %s) has no day on which it expires: fill it in", i+1, a.ID, a.Subject))
		}
	}
	return errors.Join(errs...)
}

// Stale is an entry of a baseline that does not act.
type Stale struct {
	Acceptance

	// Expired says that its day is over; otherwise nothing was found that it
	// accepts, though its check ran.
	Expired bool `json:"expired"`
}

// Accepted is a finding with the entry that accepts it.
type Accepted struct {
	Finding
	By Acceptance `json:"by"`
}

// Apply moves the findings that an entry accepts at the time now from Findings
// to Accepted, and names the entries that are Stale. An entry that has expired
// accepts nothing. Whether one is of use cannot be told where its check did not
// run.
func (b *Baseline) Apply(r Report, now time.Time) Report {
	used := make([]bool, len(b.Accepted))
	var left []Finding
	for _, f := range r.Findings {
		i := b.accepting(f, now)
		if i < 0 {
			left = append(left, f)
			continue
		}
		used[i] = true
		r.Accepted = append(r.Accepted, Accepted{f, b.Accepted[i]})
	}
	for i, a := range b.Accepted {
		expired := a.expired(now)
		if expired || !used[i] && r.ran(a.ID) {
			r.Stale = append(r.Stale, Stale{a, expired})
		}
	}
	r.Findings = left
	return r
}

// accepting is the first entry that accepts f, and -1 for none.
func (b *Baseline) accepting(f Finding, now time.Time) int {
	return slices.IndexFunc(b.Accepted, func(a Acceptance) bool {
		return a.ID == f.ID && !a.expired(now) && subjectMatches(a.Subject, f.Subject)
	})
}

// expired: the day itself still counts.
func (a Acceptance) expired(now time.Time) bool { return !now.Before(a.Expires.Begin.AddDate(0, 0, 1)) }

// NewBaseline accepts all that r has found and keeps the entries that already
// accept something. Reasons and owners of the new ones are for people to fill
// in: until then [ParseBaseline] refuses it.
func NewBaseline(r Report, now time.Time) Baseline {
	b := Baseline{Version: baselineVersion, Accepted: []Acceptance{}}
	for _, a := range r.Accepted {
		if !slices.Contains(b.Accepted, a.By) {
			b.Accepted = append(b.Accepted, a.By)
		}
	}
	y, m, d := now.UTC().Date()
	until := Day{time.Date(y, m, d+BaselineDays, 0, 0, 0, 0, time.UTC)}
	for _, f := range r.Findings {
		b.Accepted = append(b.Accepted, Acceptance{ID: f.ID, Subject: quotePattern(f.Subject), Expires: until})
	}
	return b
}

var quotePattern = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace

// subjectMatches reports whether the whole text is what the pattern says. It walks
// back to the last * only, so that no pattern takes long.
func subjectMatches(pattern, text string) bool {
	p, s := []rune(pattern), []rune(text)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		width, ok := signMatches(p[i:], s[j])
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case ok:
			i += width
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// signMatches reports whether the first sign of a pattern matches c, and how long the
// sign is.
func signMatches(p []rune, c rune) (width int, ok bool) {
	switch {
	case len(p) == 0:
		return 0, false
	case p[0] == '\\' && len(p) > 1:
		return 2, p[1] == c
	default:
		return 1, p[0] == '?' || p[0] == c
	}
}
