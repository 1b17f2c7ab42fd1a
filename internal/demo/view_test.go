package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast"
)

// busy is a snapshot with something everywhere.
func busy() Snapshot {
	now := time.Date(2026, 11, 30, 12, 0, 9, 0, time.UTC)
	t := newTally(300)
	id := 0
	for i, kind := range []holdfast.EventKind{
		holdfast.EventParked, holdfast.EventHeld, holdfast.EventDelayed, holdfast.EventDiscarded, holdfast.EventDone,
	} {
		for range 1 + 20*i {
			id++
			t.Observe(holdfast.Event{
				Kind: kind, Time: now.Add(-9 * time.Second).Add(time.Duration(id) * 40 * time.Millisecond), MessageID: idOf(id),
				Attempt: 2, Err: errors.New("no such thing as an error text that fits sixty columns"), Wait: time.Second,
				Reason: holdfast.ReasonExhausted,
			})
		}
	}
	s := Snapshot{
		Sentence: outage().live(Snapshot{count: [places]int{held: 43}}), Orders: 300, Now: now, Elapsed: 9 * time.Second, Replayed: 7,
		Books: holdfast.Books{Received: 215, Done: 81, Delayed: 41, Held: 21, Parked: 1, Discarded: 61, Released: 3, InFlight: 7},
	}
	t.fill(&s)
	return s
}

func TestTheViewFitsItsTerminal(t *testing.T) {
	for _, size := range [][2]int{{60, 24}, {100, 40}, {45, 24}, {80, 10}, {0, 0}} {
		lines := View{}.Draw(busy(), size[0], size[1])
		if size[1] > 0 && len(lines) > size[1]-1 {
			t.Errorf("%d lines for a terminal of %v", len(lines), size)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); size[0] > 0 && n >= size[0] || n > maxWidth {
				t.Errorf("%d columns on a terminal of %v: %q", n, size, line)
			}
		}
	}
}

func TestTheViewShowsTheBooks(t *testing.T) {
	text := strings.Join(View{}.Draw(busy(), 60, 24), "\n")
	t.Log("\n" + text)
	for _, want := range []string{
		"billing is down: 43 orders are held", "9.0 s", "+ 3 given back + 7 in hand = received 215",
		"oldest parked 8s ago; replayed 7", "  7.9 s  done       order-197  charged on attempt 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("it is coloured without being asked to be")
	}
}

func TestColoursTakeNoRoom(t *testing.T) {
	grey, coloured := View{}.Draw(busy(), 70, 0), View{Colour: true}.Draw(busy(), 70, 0)
	for i := range grey {
		if stripped := strip(coloured[i]); stripped != grey[i] {
			t.Errorf("%q, not %q", stripped, grey[i])
		}
	}
}

func strip(s string) string {
	for _, colour := range []string{bold, dim, red, green, yellow, cyan, plain} {
		s = strings.ReplaceAll(s, colour, "")
	}
	return s
}

func TestBarsAreNeverEmptyForSomething(t *testing.T) {
	for _, tc := range []struct {
		n, all, width int
		want          string
	}{{0, 300, 20, ""}, {1, 300, 20, "▌"}, {150, 300, 4, "██"}, {300, 300, 3, "███"}, {1, 0, 3, "██████"}} {
		if got := bar(tc.n, tc.all, tc.width); tc.all > 0 && got != tc.want {
			t.Errorf("bar of %d in %d: %q", tc.n, tc.all, got)
		}
	}
}

// terminal understands just what a screen writes.
type terminal struct {
	rows   []string
	row    int
	hidden bool
}

func (t *terminal) Write(p []byte) (int, error) {
	s := string(p)
	for s != "" {
		s = t.step(s)
	}
	return len(p), nil
}

func (t *terminal) step(s string) string {
	for len(t.rows) <= t.row {
		t.rows = append(t.rows, "")
	}
	var up int
	switch {
	case strings.HasPrefix(s, hideCursor), strings.HasPrefix(s, showCursor):
		t.hidden = strings.HasPrefix(s, hideCursor)
		return s[len(hideCursor):]
	case strings.HasPrefix(s, beginFrame), strings.HasPrefix(s, endFrame):
		return s[len(beginFrame):]
	case strings.HasPrefix(s, clearLine):
		return s[len(clearLine):]
	case strings.HasPrefix(s, clearBelow):
		t.rows = t.rows[:t.row]
		return s[len(clearBelow):]
	case strings.HasPrefix(s, "\r\n"):
		t.row++
		return s[2:]
	case strings.HasPrefix(s, "\r\x1b["):
		_, _ = fmt.Sscanf(s, "\r\x1b[%dA", &up)
		t.row -= up
		return s[strings.IndexByte(s, 'A')+1:]
	default:
		end := strings.Index(s, clearLine)
		t.rows[t.row] = s[:end]
		return s[end:]
	}
}

func TestTheScreenDrawsInPlace(t *testing.T) {
	var term terminal
	s := NewScreen(&term)
	for _, frame := range [][]string{{"a", "b"}, {"c", "d", "e"}, {"f"}, {"g", "h"}} {
		s.Draw(frame)
		if got := strings.Join(term.rows[:term.row], ","); got != strings.Join(frame, ",") || !term.hidden {
			t.Errorf("the terminal shows %q (cursor hidden: %v), not %q", got, term.hidden, frame)
		}
	}
	s.Close()
	s.Close()
	if term.hidden {
		t.Error("the cursor stays hidden")
	}
}
