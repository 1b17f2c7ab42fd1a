package triage_test

import (
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, key string
		want         bool
	}{
		{"invite.*", "invite.created.v2", true},
		{"invite.*", "invite.", true},
		{"invite.*", "invite", false},
		{"*.reset", "user/password.reset", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"a.c", "abc", false},
		{"*", "", true},
		{"[x]", "x", false},
		{"*", "with\nnewline", true},
	} {
		if got := glob(t, tc.pattern).Match(tc.key); got != tc.want {
			t.Errorf("%q on %q: %v", tc.pattern, tc.key, got)
		}
	}
	for _, bad := range []string{"", "invite.#"} {
		if _, err := triage.ParseGlob(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if (triage.Glob{}).Match("") {
		t.Error("the zero Glob matches")
	}
}

func TestSelection(t *testing.T) {
	now := time.Now()
	full := &broker.Stored{
		Message: &broker.Message{ID: "m-1", Origin: broker.Origin{Key: "orders.created"}},
		Capture: &broker.Capture{
			ID: "0123456789", Reason: broker.ReasonExhausted, Error: "Bank Down", Cause: "EOF",
			FailedAt: now.Add(-time.Hour),
		},
	}
	bare := &broker.Stored{Message: &broker.Message{Origin: broker.Origin{Key: "orders.created"}}}
	dead := &broker.Stored{
		DeadLettered: "rejected",
		Message: &broker.Message{Headers: map[string]any{"x-death": []any{map[string]any{
			"queue": "orders", "reason": "rejected", "count": int64(2), "time": now.Add(-time.Hour),
		}}}},
	}
	for name, tc := range map[string]struct {
		selection triage.Selection
		message   *broker.Stored
		want      bool
	}{
		"everything":            {triage.Selection{}, bare, true},
		"a_reason":              {triage.Selection{Reasons: []broker.Reason{"verdict", "exhausted"}}, full, true},
		"another_reason":        {triage.Selection{Reasons: []broker.Reason{"verdict"}}, full, false},
		"a_reason_of_none":      {triage.Selection{Reasons: []broker.Reason{"verdict"}}, bare, false},
		"a_key":                 {triage.Selection{Keys: []triage.Glob{glob(t, "orders.*")}}, full, true},
		"another_key":           {triage.Selection{Keys: []triage.Glob{glob(t, "bills.*")}}, full, false},
		"an_error":              {triage.Selection{Error: "bank down"}, full, true},
		"a_cause":               {triage.Selection{Error: "eof"}, full, true},
		"an_error_of_none":      {triage.Selection{Error: "x"}, bare, false},
		"a_capture_id":          {triage.Selection{IDs: []string{"0123456789"}}, full, true},
		"the_beginning_of_one":  {triage.Selection{IDs: []string{"01234567"}}, full, true},
		"too_little_of_one":     {triage.Selection{IDs: []string{"0123"}}, full, false},
		"a_message_id":          {triage.Selection{IDs: []string{"m-1"}}, full, true},
		"older":                 {triage.Selection{OlderThan: time.Minute}, full, true},
		"not_old_enough":        {triage.Selection{OlderThan: 2 * time.Hour}, full, false},
		"newer":                 {triage.Selection{NewerThan: 2 * time.Hour}, full, true},
		"of_no_age":             {triage.Selection{OlderThan: time.Minute}, bare, false},
		"dead_for_long_enough":  {triage.Selection{OlderThan: time.Minute}, dead, true},
		"two_conditions_of_two": {triage.Selection{Error: "bank", OlderThan: time.Minute}, full, true},
		"one_condition_of_two":  {triage.Selection{Error: "bank", OlderThan: 3 * time.Hour}, full, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.selection.Match(tc.message, now); got != tc.want {
				t.Errorf("Match is %v", got)
			}
		})
	}
}

// table is a driver's own type, as amqp.Table is.
type table map[string]any

func TestDeaths_reads_a_drivers_own_types(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	m := &broker.Stored{Message: &broker.Message{Headers: map[string]any{"x-death": []any{
		table{"queue": "orders", "reason": "rejected", "exchange": "shop", "routing-keys": []any{"k"}, "count": int64(3), "time": at},
		"forged",
		table{},
	}}}}
	deaths := triage.Deaths(m)
	if len(deaths) != 2 || deaths[0].Queue != "orders" || deaths[0].Count != 3 || !deaths[0].Time.Equal(at) || deaths[0].Keys[0] != "k" {
		t.Errorf("deaths %+v", deaths)
	}
	for _, forged := range []any{nil, "x", 7, []any{7}, table{"a": 1}} {
		m.Message.Headers["x-death"] = forged
		if d := triage.Deaths(m); len(d) != 0 {
			t.Errorf("%v reads as %+v", forged, d)
		}
	}
}

func TestSummary(t *testing.T) {
	now := time.Now().UTC()
	var s triage.Summary
	for i, c := range []*broker.Capture{
		{Reason: broker.ReasonVerdict, FailedAt: now.Add(-time.Hour)},
		{Reason: broker.ReasonVerdict, FailedAt: now},
		nil,
	} {
		s.Add(&broker.Stored{Capture: c, Position: i, Message: &broker.Message{}})
	}
	if s.Count != 3 || s.Reasons[broker.ReasonVerdict] != 2 || s.Foreign != 1 ||
		!s.Oldest.Equal(now.Add(-time.Hour)) || !s.Newest.Equal(now) {
		t.Errorf("summary %+v", s)
	}
}

func TestEntry_cuts_a_body_between_characters(t *testing.T) {
	m := &broker.Stored{Message: &broker.Message{Body: []byte("aéé")}}
	e := triage.NewEntry(m, triage.Detail{Body: true, Bytes: 4, Text: true})
	if !e.BodyCut || e.BodyText != "aé" || e.Size != 5 || len(e.Body) != 4 {
		t.Errorf("entry %+v", e)
	}
}
