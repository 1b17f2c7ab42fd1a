package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	item = regexp.MustCompile(`^\d+\. (.+)$`)
	note = regexp.MustCompile(`^note (\d+)$`)
)

// parse reads what render wrote. An empty text is a page that nobody wrote yet.
func parse(text string) (*page, error) {
	p := &page{rows: map[string]row{}}
	_, text, _ = strings.Cut(text, contractTitle+"\n")
	contract, suite, _ := strings.Cut(text, suiteTitle+"\n")
	var notes []string
	for _, line := range items(contract) {
		if name, ok := strings.CutPrefix(line, "`"); ok {
			p.behaviours = append(p.behaviours, strings.TrimSuffix(name, "`"))
		} else {
			notes = append(notes, line)
		}
	}
	for _, line := range rows(contract) {
		if err := p.parseCells(line, notes); err != nil {
			return nil, err
		}
	}
	for _, line := range rows(suite) {
		if err := p.parseCounts(line); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// items are the lines of the numbered lists.
func items(text string) (list []string) {
	for line := range strings.Lines(text) {
		if m := item.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			list = append(list, m[1])
		}
	}
	return list
}

// rows are the cells of those table rows that are a configuration's.
func rows(text string) (list [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if slices.Contains(configurations, cells[0]) {
			list = append(list, cells)
		}
	}
	return list
}

func (p *page) parseCells(line, notes []string) error {
	name, texts := line[0], line[1:]
	if len(texts) != len(p.behaviours) {
		return fmt.Errorf("ledger: %s: %d cells for %d columns", name, len(texts), len(p.behaviours))
	}
	r := row{cells: map[string]cell{}}
	for i, text := range texts {
		c, err := parseCell(text, notes)
		if err != nil {
			return fmt.Errorf("ledger: %s: %s: %w", name, p.behaviours[i], err)
		}
		r.cells[p.behaviours[i]] = c
	}
	p.rows[name] = r
	return nil
}

// parseCell puts the reason back that a note has.
func parseCell(text string, notes []string) (cell, error) {
	word, why := cell(text).split()
	switch {
	case text == string(pass):
		return pass, nil
	case word != "unsupported" && word != "deferred" || why == "":
		return "", fmt.Errorf("%q is no cell", text)
	}
	m := note.FindStringSubmatch(why)
	if m == nil {
		return cell(text), nil
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i < 1 || i > len(notes) {
		return "", fmt.Errorf("there is no %s", why)
	}
	return cell(word + " (" + notes[i-1] + ")"), nil
}

func (p *page) parseCounts(line []string) error {
	if len(line) != 4 {
		return fmt.Errorf("ledger: %s: %d cells of the whole suite, not 4", line[0], len(line))
	}
	if line[2] == "-" {
		return nil // nobody ran it
	}
	r := p.rows[line[0]]
	r.product = line[1]
	var err error
	if r.passed, err = strconv.Atoi(line[2]); err == nil {
		r.not, err = strconv.Atoi(line[3])
	}
	if err != nil {
		return fmt.Errorf("ledger: %s: a count of the whole suite: %w", line[0], err)
	}
	p.rows[line[0]] = r
	return nil
}
