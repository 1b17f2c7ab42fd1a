package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-mq/holdfast/doctor"
)

// The part of JUnit's XML that every reader of it knows.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Skipped *junitNote  `xml:"skipped,omitempty"`
		Error   *junitNote  `xml:"error,omitempty"`
		Failure *junitNote  `xml:"failure,omitempty"`
		Out     *junitPlain `xml:"system-out,omitempty"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
	junitPlain struct {
		Text string `xml:",chardata"`
	}
)

// JUnit writes r with one suite for each source and one case for each check.
// A check fails by findings of at least the severity failOn (0: by none); what
// is less or accepted is its output. Of a source that was asked for and gave
// nothing the checks are errors, and of one that was not asked they are skipped.
func JUnit(w io.Writer, r doctor.Report, failOn doctor.Severity) error {
	suites := junitSuites{Name: "holdfast doctor"}
	at := map[doctor.Source]int{}
	for _, c := range r.Checks {
		i, known := at[c.Needs]
		if !known {
			i = len(suites.Suites)
			at[c.Needs] = i
			suites.Suites = append(suites.Suites, junitSuite{Name: string(c.Needs)})
		}
		suites.Suites[i].add(newCase(c, r, failOn))
	}
	for _, s := range suites.Suites {
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
		suites.Skipped += s.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	s.Cases = append(s.Cases, c)
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func newCase(c doctor.Check, r doctor.Report, failOn doctor.Severity) junitCase {
	out := junitCase{Class: "holdfast.doctor." + string(c.Needs), Name: c.ID + " " + c.Title}
	switch {
	case r.DidRun(c):
		out.find(c, r, failOn)
	case missed(r, c.Needs):
		out.Error = &junitNote{Message: "the source did not answer", Type: "blind", Text: strings.Join(r.Blind, "\n")}
	default:
		out.Skipped = &junitNote{Message: "there was nothing to look at"}
	}
	return out
}

func missed(r doctor.Report, s doctor.Source) bool {
	for _, m := range r.Missed {
		if m == s {
			return true
		}
	}
	return false
}

// find sorts what was found into failures and output. One case has one failure,
// since some readers take the first only.
func (c *junitCase) find(check doctor.Check, r doctor.Report, failOn doctor.Severity) {
	var bad, other []string
	worst := doctor.Severity(0)
	for _, f := range r.Findings {
		switch {
		case f.ID != check.ID:
		case failOn > 0 && f.Severity >= failOn:
			bad = append(bad, prose(f))
			worst = max(worst, f.Severity)
		default:
			other = append(other, f.Severity.String()+": "+prose(f))
		}
	}
	for _, a := range r.Accepted {
		if a.ID == check.ID {
			other = append(other, "accepted ("+a.By.Reason+"): "+prose(a.Finding))
		}
	}
	if len(bad) > 0 {
		first, _, _ := strings.Cut(bad[0], "\n")
		if n := len(bad) - 1; n > 0 {
			first = fmt.Sprintf("%s (and %d more)", first, n)
		}
		c.Failure = &junitNote{Message: first, Type: worst.String(), Text: strings.Join(bad, "\n\n")}
	}
	if len(other) > 0 {
		c.Out = &junitPlain{strings.Join(other, "\n\n")}
	}
}
