package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// row is one line of the report, as ./bench prints it.
type row struct {
	Name   string  `json:"name"`
	Ours   float64 `json:"ours"`
	Peer   float64 `json:"peer"`
	Ratio  float64 `json:"ratio"`
	Unit   string  `json:"unit"`
	Rounds int     `json:"rounds"`

	low, high float64 // the ratios of the single rounds
	target    string
	missed    bool
}

// compare takes the medians, and the ratio of the medians. The ratios of the single rounds show how far to trust it.
func compare(name, unit string, ours, peer []float64) row {
	r := row{Name: name, Unit: unit, Rounds: len(ours), Ours: median(ours), Peer: median(peer)}
	r.Ratio = r.Ours / r.Peer
	single := make([]float64, len(ours))
	for i := range ours {
		single[i] = ours[i] / peer[i]
	}
	r.low, r.high = slices.Min(single), slices.Max(single)
	return r
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// least sets a target; 0 is none.
func (r row) least(v float64) row {
	if v > 0 {
		r.target, r.missed = fmt.Sprintf(">= %.2f", v), r.Ratio < v
	}
	return r
}

func (r row) most(v float64) row {
	r.target, r.missed = fmt.Sprintf("<= %.2f", v), r.Ratio > v
	return r
}

func (r row) met() string {
	switch {
	case r.target == "":
		return ""
	case r.missed:
		return "MISSED"
	default:
		return "yes"
	}
}

func printTable(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tours\tpeer\tratio\trange\ttarget\tunit\trounds\tmet")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.2f-%.2f\t%s\t%s\t%d\t%s\n",
			r.Name, number(r.Ours), number(r.Peer), r.Ratio, r.low, r.high, r.target, r.Unit, r.Rounds, r.met())
	}
	w.Flush()
}

func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// writeJSON writes the rows to the file; an empty name writes nothing.
func writeJSON(file string, rows []row) error {
	if file == "" {
		return nil
	}
	content, err := json.MarshalIndent(append([]row{}, rows...), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}
