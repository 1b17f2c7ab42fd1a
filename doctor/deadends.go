package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/topology"
)

// deadEnd is an exchange at which the ways of several queues end.
type deadEnd struct {
	name   string
	hops   []topology.Hop
	queues []string
}

// ended groups the hops of all paths that are so by their exchange: one
// mistake is one finding, however many queues share it.
func (v *vhost) ended(so func(topology.Hop) bool) (ends []deadEnd) {
	at := map[string]int{}
	for _, p := range v.paths {
		for _, h := range p.Hops {
			if !so(h) {
				continue
			}
			i, known := at[h.Exchange]
			if !known {
				i = len(ends)
				at[h.Exchange] = i
				ends = append(ends, deadEnd{name: h.Exchange})
			}
			if !slices.Contains(ends[i].queues, h.Queue) {
				ends[i].queues, ends[i].hops = append(ends[i].queues, h.Queue), append(ends[i].hops, h)
			}
		}
	}
	slices.SortFunc(ends, func(a, b deadEnd) int { return strings.Compare(a.name, b.name) })
	return ends
}

func (e deadEnd) who() string {
	if len(e.queues) == 1 {
		return fmt.Sprintf("queue %q is to", e.queues[0])
	}
	return fmt.Sprintf("%d queues are to", len(e.queues))
}

// most is how many names of a kind a finding shows.
const most = 10

func (e deadEnd) evidence() (lines []string) {
	for i, h := range e.hops {
		if i == most {
			return append(lines, fmt.Sprintf("and %d more queues", len(e.hops)-most))
		}
		lines = append(lines, fmt.Sprintf("queue %q dead-letters to %q under %s", h.Queue, h.Exchange, quoted(h.Keys)))
	}
	return lines
}

// quoted lists names, at most [most] of them.
func quoted(names []string) string {
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%q", name))
	}
	return strings.Join(parts, ", ")
}
