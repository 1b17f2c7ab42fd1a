package demo

import (
	"fmt"
	"io"
	"strings"
)

// Screen draws a block of lines over and over in place, below what the
// terminal shows already. It takes no input, so that it needs no raw mode, and
// a kill leaves a terminal that works.
//
// A library for terminal programs (Bubble Tea was measured) does this with
// thirteen more modules and 1.5 MB more of binary.
type Screen struct {
	out   io.Writer
	drawn int // lines of the block that stands there
	begun bool
}

// NewScreen makes a screen that draws nothing yet.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"

	// Terminals that know these show a frame at once; others ignore them.
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// Draw replaces the block. A frame is one write, so that none is torn.
func (s *Screen) Draw(lines []string) {
	var b strings.Builder
	if !s.begun {
		s.begun = true
		b.WriteString(hideCursor)
	}
	b.WriteString(beginFrame)
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA", s.drawn)
	}
	for _, line := range lines {
		b.WriteString(line + clearLine + "\r\n")
	}
	b.WriteString(clearBelow + endFrame)
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, b.String())
}

// Close leaves the last block where it is and gives the cursor back.
func (s *Screen) Close() {
	if s.begun {
		s.begun, s.drawn = false, 0
		_, _ = io.WriteString(s.out, showCursor)
	}
}
