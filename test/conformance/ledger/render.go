package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	contractTitle = "## The contract"
	suiteTitle    = "## The whole suite"

	// longest is how long a reason may be inside of a cell.
	longest = 24
)

const introduction = `# Conformance

What the suite of [` + "`broker/brokertest`" + `](../broker/brokertest) has proven on each configuration, on the real thing. This page is written
by the tests: they compare it with each run, fail where the two differ, and write it anew when told to
(` + "`go test ./test/conformance -update`" + `). It is not edited by hand.

- ` + "`pass`" + `: the promise is kept.
- ` + "`unsupported`" + `: the broker does not declare what the promise takes. Another case proves that it is refused.
- ` + "`deferred`" + `: nothing is proven, for the reason given.
`

// render writes the page. What parse reads of it is the page again.
func (p *page) render() string {
	b := &strings.Builder{}
	b.WriteString(introduction)
	p.renderContract(b)
	p.renderSuite(b)
	return b.String()
}

func (p *page) renderContract(b *strings.Builder) {
	passing, cells := p.count()
	fmt.Fprintf(b, "\n%s\n\nThe same handler and policy, the same promises; %d of %d cells pass. The columns:\n\n", contractTitle, passing, cells)
	for i, name := range p.behaviours {
		fmt.Fprintf(b, "%d. `%s`\n", i+1, name)
	}
	head := []string{"configuration"}
	for i := range p.behaviours {
		head = append(head, strconv.Itoa(i+1))
	}
	header(b, head...)
	var notes []string
	for _, name := range configurations {
		line := []string{name}
		for _, behaviour := range p.behaviours {
			line = append(line, p.rows[name].at(behaviour).short(&notes))
		}
		tableRow(b, line...)
	}
	if len(notes) > 0 {
		b.WriteString("\nNotes:\n\n")
	}
	for i, note := range notes {
		fmt.Fprintf(b, "%d. %s\n", i+1, note)
	}
}

func (p *page) count() (passing, cells int) {
	for _, name := range configurations {
		for _, behaviour := range p.behaviours {
			cells++
			if p.rows[name].at(behaviour) == pass {
				passing++
			}
		}
	}
	return passing, cells
}

func (p *page) renderSuite(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n\nEvery case of every topic, the contract among them.\n", suiteTitle)
	header(b, "configuration", "broker", "passed", "not for this broker")
	for _, name := range configurations {
		r := p.rows[name]
		if r.product == "" {
			tableRow(b, name, "not run yet", "-", "-")
			continue
		}
		tableRow(b, name, r.product, strconv.Itoa(r.passed), strconv.Itoa(r.not))
	}
}

func header(b *strings.Builder, names ...string) {
	b.WriteString("\n")
	tableRow(b, names...)
	b.WriteString("|" + strings.Repeat("---|", len(names)) + "\n")
}

func tableRow(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// split is a cell's word and its reason.
func (c cell) split() (word, why string) {
	word, why, _ = strings.Cut(string(c), " (")
	return word, strings.TrimSuffix(why, ")")
}

// short is the cell as the table has it: a long reason goes to the notes, each
// of them once.
func (c cell) short(notes *[]string) string {
	word, why := c.split()
	if len(why) <= longest {
		return string(c)
	}
	i := slices.Index(*notes, why)
	if i < 0 {
		i = len(*notes)
		*notes = append(*notes, why)
	}
	return fmt.Sprintf("%s (note %d)", word, i+1)
}
