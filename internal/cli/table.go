package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// table aligns columns. The last one takes what room is left, and those of
// elastic give way to it.
type table struct {
	heads   []string
	elastic []int
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table at most width columns wide; 0 is no limit.
func (t *table) write(w io.Writer, width int, heading func(string) string) error {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	if width > 0 {
		t.shrink(widths, width)
	}
	if _, err := fmt.Fprintln(w, heading(line(t.heads, widths, width))); err != nil {
		return err
	}
	for _, row := range t.rows {
		if _, err := fmt.Fprintln(w, line(row, widths, width)); err != nil {
			return err
		}
	}
	return nil
}

func line(cells []string, widths []int, width int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i == len(cells)-1 {
			b.WriteString(cell)
			break
		}
		b.WriteString(pad(cut(cell, widths[i]), widths[i]) + "  ")
	}
	return cut(strings.TrimRight(b.String(), " "), width)
}

// shrink keeps a column of long words (a routing key may have 255 characters)
// from pushing the last one off the screen.
func (t *table) shrink(widths []int, width int) {
	const leastLast, leastElastic = 24, 8
	total := 2 * (len(widths) - 1)
	for _, w := range widths[:len(widths)-1] {
		total += w
	}
	for over := total + leastLast - width; over > 0; over-- {
		widest := -1
		for _, i := range t.elastic {
			if widths[i] > leastElastic && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}
