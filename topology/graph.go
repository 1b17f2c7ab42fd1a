package topology

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// GraphFormat is how a graph is written. The set is closed.
type GraphFormat string

// The formats.
const (
	Mermaid GraphFormat = "mermaid"
	DOT     GraphFormat = "dot"
)

// edge is one arrow of a graph.
type edge struct {
	from, to string // ids of nodes
	label    string
	dead     Promise // of a hop of a reject path; empty for a binding
}

// Graph draws a topology: exchanges, queues, the bindings between them, and
// what each queue gives away, with what each hop promises. A hop that nothing
// takes leads to a black hole.
func Graph(w io.Writer, t Topology, rules Rules, format GraphFormat) error {
	g := newGraph(t.sorted(), rules)
	switch format {
	case Mermaid:
		return g.mermaid(w)
	case DOT:
		return g.dot(w)
	default:
		return fmt.Errorf("topology: a graph is %s or %s, not %q", Mermaid, DOT, format)
	}
}

type graph struct {
	nodes map[string]string // label by id
	order []string
	edges []edge
}

func newGraph(t Topology, rules Rules) *graph {
	g := &graph{nodes: map[string]string{}}
	for _, e := range t.Exchanges {
		if used(t, e.Name) {
			g.node("x", e.Name, orText(e.Name, "(default)"))
		}
	}
	for _, q := range t.Queues {
		g.node("q", q.Name, q.Name)
	}
	for _, b := range t.Bindings {
		if b.Source == "" {
			continue // every queue has it
		}
		kind := "q"
		if b.ToExchange {
			kind = "x"
		}
		g.known("x", b.Source) // also where nobody declares it
		g.known(kind, b.Destination)
		g.edges = append(g.edges, edge{from: id("x", b.Source), to: id(kind, b.Destination), label: b.Key})
	}
	for _, e := range t.Exchanges {
		if e.Alternate != "" {
			g.known("x", e.Alternate)
			g.edges = append(g.edges, edge{from: id("x", e.Name), to: id("x", e.Alternate), label: "alternate"})
		}
	}
	x := NewIndex(&t)
	for _, p := range Paths(x, rules) {
		g.reject(p)
	}
	return g
}

// used leaves out the exchanges that every virtual host has.
func used(t Topology, name string) bool {
	if name != "" && !strings.HasPrefix(name, "amq.") {
		return true
	}
	return slices.ContainsFunc(t.Bindings, func(b Binding) bool { return b.Source == name && name != "" })
}

// reject draws what one queue gives away itself; the hops behind it are drawn
// where they begin.
func (g *graph) reject(p Path) {
	causes := make([]string, len(p.Causes))
	for i, c := range p.Causes {
		causes[i] = string(c)
	}
	if len(p.Hops) == 0 {
		g.blackHole(p.Queue, strings.Join(causes[1:], ", "))
		return
	}
	h := p.Hops[0]
	if h.Promise == BlackHole {
		g.blackHole(p.Queue, fmt.Sprintf("%s by %q", strings.Join(causes, ", "), h.Exchange))
		return
	}
	for _, to := range h.Reaches {
		g.edges = append(g.edges, edge{from: id("q", p.Queue), to: id("q", to), label: fmt.Sprintf("%s: %s", strings.Join(causes, ", "), h.Promise), dead: h.Promise})
	}
}

func (g *graph) blackHole(queue, label string) {
	hole := id("hole", queue)
	g.node("hole", queue, string(BlackHole))
	g.edges = append(g.edges, edge{from: id("q", queue), to: hole, label: label, dead: BlackHole})
}

// known names what is only led to.
func (g *graph) known(kind, name string) {
	if _, declared := g.nodes[id(kind, name)]; !declared {
		g.node(kind, name, name+" (not declared)")
	}
}

func (g *graph) node(kind, name, label string) {
	n := id(kind, name)
	if _, known := g.nodes[n]; !known {
		g.order = append(g.order, n)
	}
	g.nodes[n] = label
}

// id is a name that both formats take, different for different names.
func id(kind, name string) string {
	var b strings.Builder
	b.WriteString(kind)
	b.WriteByte('_')
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (g *graph) mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, n := range g.order {
		open, closed := "[", "]"
		switch {
		case strings.HasPrefix(n, "x_"):
			open, closed = "{{", "}}"
		case strings.HasPrefix(n, "hole_"):
			open, closed = "((", "))"
		}
		fmt.Fprintf(&b, "  %s%s\"%s\"%s\n", n, open, mermaidText(g.nodes[n]), closed)
	}
	for _, e := range g.edges {
		arrow := "-->"
		if e.dead != "" {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s|\"%s\"| %s\n", e.from, arrow, mermaidText(orText(e.label, " ")), e.to)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mermaidText(s string) string {
	return strings.NewReplacer(`"`, "#quot;", "#", "#35;", "\n", " ").Replace(s)
}

func (g *graph) dot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph topology {\n  rankdir=LR;\n")
	for _, n := range g.order {
		shape := "box"
		switch {
		case strings.HasPrefix(n, "x_"):
			shape = "hexagon"
		case strings.HasPrefix(n, "hole_"):
			shape = "doublecircle"
		}
		fmt.Fprintf(&b, "  %s [label=%q, shape=%s];\n", n, g.nodes[n], shape)
	}
	for _, e := range g.edges {
		style := "solid"
		if e.dead != "" {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%q, style=%s];\n", e.from, e.to, e.label, style)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
