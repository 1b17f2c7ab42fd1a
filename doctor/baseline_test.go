package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var baselineNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const baselineText = `{
  "version": 1,
  "accepted": [
    {"id": "HF901", "subject": "queue \"orders.*\"", "reason": "moved in May", "owner": "billing", "expires": "2026-11-30"},
    {"id": "HF901", "subject": "queue \"old\"", "reason": "goes in May", "owner": "billing", "expires": "2026-11-29"},
    {"id": "HF901", "subject": "queue \"never\"", "reason": "was there once", "owner": "billing", "expires": "2027-01-01"},
    {"id": "HF902", "subject": "*", "reason": "not looked at here", "owner": "billing", "expires": "2027-01-01"}
  ]
}`

func TestBaseline_accepts_until_its_day_is_over(t *testing.T) {
	b, err := ParseBaseline([]byte(baselineText))
	if err != nil {
		t.Fatal(err)
	}
	checks := []Check{{ID: "HF901", Needs: SourceStore}, {ID: "HF902", Needs: SourcePrometheus}}
	finding := func(subject string) Finding {
		return Finding{ID: "HF901", Severity: Error, Subject: subject}
	}
	r := Report{
		Findings: []Finding{finding(`queue "orders.billing"`), finding(`queue "old"`), finding(`queue "payments"`)},
		Sources:  []Source{SourceStore}, Checks: checks, Ran: 1, Skipped: 1,
	}
	got := b.Apply(r, baselineNow)
	if n := len(got.Findings); n != 2 || got.Findings[0].Subject != `queue "old"` || got.Findings[1].Subject != `queue "payments"` {
		t.Errorf("left: %+v", got.Findings)
	}
	if n := len(got.Accepted); n != 1 || got.Accepted[0].By.Reason != "moved in May" {
		t.Errorf("accepted: %+v", got.Accepted)
	}
	if n := len(got.Stale); n != 2 || !got.Stale[0].Expired || got.Stale[0].Subject != `queue "old"` || got.Stale[1].Expired || got.Stale[1].Subject != `queue "never"` {
		t.Errorf("stale: %+v", got.Stale)
	}

	tomorrow := b.Apply(r, baselineNow.Add(12*time.Hour))
	if len(tomorrow.Accepted) != 0 || len(tomorrow.Findings) != 3 || len(tomorrow.Stale) != 3 {
		t.Errorf("the day after: %d accepted, %d left, %d stale", len(tomorrow.Accepted), len(tomorrow.Findings), len(tomorrow.Stale))
	}
}

func TestParseBaseline_refuses_what_nobody_stands_for(t *testing.T) {
	for content, want := range map[string]string{
		`{"version":2,"accepted":[]}`:         "version must be 1",
		`{"version":1,"accepted":[]} more`:    "follows its end",
		"{\n\"version\":1,\n\"acepted\":[]}":  "acepted",
		"{\"version\":1,\n\"accepted\":[{}]}": "entry 1",
		`{"version":1,"accepted":[{"id":"HF001","subject":"x","reason":" ","owner":"o","expires":"2027-01-01"}]}`: "has no reason",
		`{"version":1,"accepted":[{"id":"HF001","subject":"x","reason":"r","owner":"","expires":"2027-01-01"}]}`:  "has no owner",
		`{"version":1,"accepted":[{"id":"HF001","subject":"x","reason":"r","owner":"o"}]}`:                        "no day on which it expires",
		`{"version":1,"accepted":[{"id":"HF001","subject":"x","reason":"r","owner":"o","expires":"soon"}]}`:       "a day is written",
		`{"version":1,"accepted":[{"id":"HF001","subject":"","reason":"r","owner":"o","expires":"2027-01-01"}]}`:  "has no subject",
		``:                     "EOF",
		"{\n\"version\":1,\n}": "line 3",
		`[]`:                   "line 1",
	} {
		b, err := ParseBaseline([]byte(content))
		if err == nil || b != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want an error with %q", content, b, err, want)
		}
	}
}

func TestNewBaseline_is_read_once_somebody_has_filled_it_in(t *testing.T) {
	kept := Acceptance{ID: "HF901", Subject: "*", Reason: "r", Owner: "o", Expires: Day{baselineNow.AddDate(0, 0, 3).Truncate(24 * time.Hour)}}
	r := Report{
		Findings: []Finding{{ID: "HF902", Subject: `queue "a*b?\"`, Severity: Warning}},
		Accepted: []Accepted{{Finding{ID: "HF901", Subject: "x"}, kept}, {Finding{ID: "HF901", Subject: "y"}, kept}},
		Sources:  []Source{SourceStore}, Checks: []Check{{ID: "HF902", Needs: SourceStore}},
	}
	b := NewBaseline(r, baselineNow)
	content, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseBaseline(content); err == nil || !strings.Contains(err.Error(), "entry 2 (HF902") {
		t.Errorf("one without reasons: %v", err)
	}
	b.Accepted[1].Reason, b.Accepted[1].Owner = "it is meant so", "billing"
	content, _ = json.Marshal(b)
	again, err := ParseBaseline(content)
	if err != nil {
		t.Fatal(err)
	}
	got := again.Apply(r, baselineNow)
	if len(got.Findings) != 0 || len(again.Accepted) != 2 || again.Accepted[1].Expires.String() != "2027-02-28" {
		t.Errorf("left %+v of %+v", got.Findings, again)
	}
}

func TestSubjectMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a b", true},
		{"a", "a", true},
		{"a", "ab", false},
		{"a*", "ab", true},
		{"*b", "ab", true},
		{"a*c*e", "abcde", true},
		{"a*c*e", "abde", false},
		{"?", "é", true},
		{"?", "", false},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`a\?c`, "a?c", true},
		{`a\?c`, "abc", false},
		{`\`, `\`, true},
		{`*\*`, "a*", true},
		{`**`, "x", true},
		{strings.Repeat("*a", 60) + "b", strings.Repeat("a", 4000), false},
	} {
		if got := subjectMatches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q, %.20q: %v", tc.pattern, tc.text, got)
		}
	}
}
