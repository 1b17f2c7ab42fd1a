package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A view is 60 columns wide where the terminal is, and at most maxWidth.
const (
	maxWidth = 78
	minWidth = 40

	sentenceLines = 2 // kept free, so that nothing below moves
)

// View draws snapshots.
type View struct {
	// Colour is for terminals of people who did not set NO_COLOR.
	Colour bool
}

// Draw is the lines of s for a terminal of width columns and height rows; 0 is
// no limit.
func (v View) Draw(s Snapshot, width, height int) []string {
	w := columns(width)
	lines := []string{"", v.title(s, w), ""}
	lines = append(lines, v.sentence(s, w)...)
	lines = append(lines, "")
	lines = append(lines, v.places(s, w)...)
	lines = append(lines, v.parked(s, w), "")
	lines = append(lines, v.last(s, w)...)
	if height > 0 && len(lines) >= height {
		lines = lines[:height-1] // the cursor stands below
	}
	return lines
}

func columns(width int) int {
	if width <= 0 {
		return maxWidth
	}
	return max(min(width-1, maxWidth), minWidth) // the last column of some terminals wraps
}

func (v View) title(s Snapshot, w int) string {
	const name = "holdfast demo"
	took := fmt.Sprintf("%.1f s", s.Elapsed.Seconds())
	about := clip("  NATS JetStream inside this process", w-len(name)-len(took)-1)
	return v.paint(bold, name) + v.paint(dim, about+padLeft(took, w-len(name)-len(about)))
}

func (v View) sentence(s Snapshot, w int) []string {
	lines := wrap(s.Sentence, w)
	for len(lines) < sentenceLines {
		lines = append(lines, "")
	}
	return lines[:sentenceLines]
}

var placeColours = [places]string{done: green, delayed: yellow, held: cyan, parked: red, dropped: dim, coming: dim}

// places is a row for each place: the orders that are there now, as a bar, and
// on the right the entries of the books, which add up to what was received.
func (v View) places(s Snapshot, w int) []string {
	const label, entry = 18, 8
	now, booked := "now", "books"
	lines := []string{v.paint(dim, padLeft(now, label-2)+padLeft(booked, w-label+2))}
	for _, p := range shown {
		n := s.count[p.place]
		bars := bar(n, s.Orders, w-label-entry)
		row := fmt.Sprintf("%-10s %5d  ", p.name, n) + v.paint(placeColours[p.place], bars)
		if sum, ok := s.booked(p.place); ok {
			row += padLeft(strconv.FormatInt(sum, 10), w-label-utf8.RuneCountInString(bars))
		}
		lines = append(lines, row)
	}
	return append(lines, v.paint(dim, padLeft(clip(s.received(), w), w)))
}

// booked is what the books have under the name of a place.
func (s Snapshot) booked(p place) (int64, bool) {
	switch p {
	case done:
		return s.Books.Done, true
	case delayed:
		return s.Books.Delayed, true
	case held:
		return s.Books.Held, true
	case parked:
		return s.Books.Parked, true
	case dropped:
		return s.Books.Discarded, true
	default:
		return 0, false
	}
}

// received is the last line of the books.
func (s Snapshot) received() string {
	text := ""
	if n := s.Books.Released; n > 0 {
		text = fmt.Sprintf("+ %d given back ", n)
	}
	return text + fmt.Sprintf("+ %d in hand = received %d", s.Books.InFlight, s.Books.Received)
}

func (v View) parked(s Snapshot, w int) string {
	text := "nothing is parked"
	if !s.OldestParked.IsZero() {
		text = fmt.Sprintf("oldest parked %v ago", max(s.Now.Sub(s.OldestParked), 0).Truncate(time.Second))
	}
	return v.paint(dim, clip(fmt.Sprintf("%s; replayed %d", text, s.Replayed), w))
}

// last is the last lines, and blanks where there are none yet.
func (v View) last(s Snapshot, w int) []string {
	const at = 9
	began := s.Now.Add(-s.Elapsed)
	lines := make([]string, linesKept)
	for i, l := range s.Lines {
		when := fmt.Sprintf("%5.1f s  ", l.At.Sub(began).Seconds())
		what := fmt.Sprintf("%-9s", l.What)
		lines[i] = v.paint(dim, when) + v.paint(placeColours[l.place], what) + clip(l.text(), w-at-len(what))
	}
	return lines
}

func (l Line) text() string { return "  " + l.Order + "  " + l.Text }

// String is the line as it stands in a list of its own.
func (l Line) String() string {
	return fmt.Sprintf("%s  %-9s%s", l.At.Format(time.TimeOnly), l.What, l.text())
}

// bar is as long for n as width is for all, and never empty for something. A
// half block doubles the steps.
func bar(n, all, width int) string {
	halves := n * width * 2 / max(all, 1)
	if n > 0 && halves == 0 {
		halves = 1
	}
	return strings.Repeat("█", halves/2) + strings.Repeat("▌", halves%2)
}

// wrap breaks text into lines between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, clip(line, width))
}

// clip shortens text to width columns. All texts of the story are of single
// characters one column wide.
func clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

// The colours.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

func (v View) paint(colour, text string) string {
	if !v.Colour || text == "" {
		return text
	}
	return colour + text + plain
}
