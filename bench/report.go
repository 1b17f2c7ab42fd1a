package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

func printTable(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tours\tpeer\tratio\trange\ttarget\tunit\trounds\tmet")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.2f-%.2f\t%s\t%s\t%d\t%s\n",
			r.Name, number(r.Ours), number(r.Peer), r.Ratio, r.low, r.high, r.target(), r.Unit, r.Rounds, r.met())
	}
	w.Flush()
}

func (r row) target() string {
	switch {
	case r.bound == nil:
		return ""
	case r.bound.most:
		return fmt.Sprintf("<= %.2f", r.bound.value)
	default:
		return fmt.Sprintf(">= %.2f", r.bound.value)
	}
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
