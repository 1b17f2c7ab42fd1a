package main

import "slices"

// row is one line of the report.
type row struct {
	Name   string  `json:"name"`
	Ours   float64 `json:"ours"`
	Peer   float64 `json:"peer"`
	Ratio  float64 `json:"ratio"`
	Unit   string  `json:"unit"`
	Rounds int     `json:"rounds"`

	low, high float64 // the ratios of the single rounds
	bound     *bound
}

// bound is a target for the ratio.
type bound struct {
	value float64
	most  bool // the ratio may be at most value; otherwise at least
}

// compare takes the medians, and the ratio of the medians. The ratios of the
// single rounds show how far to trust it.
func compare(name, unit string, ours, peer []result, by func(result) float64) row {
	a, b := values(ours, by), values(peer, by)
	r := row{Name: name, Unit: unit, Rounds: len(a), Ours: median(a), Peer: median(b)}
	r.Ratio = r.Ours / r.Peer
	single := make([]float64, len(a))
	for i := range a {
		single[i] = a[i] / b[i]
	}
	r.low, r.high = slices.Min(single), slices.Max(single)
	return r
}

func values(results []result, by func(result) float64) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = by(r)
	}
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func (r row) least(v float64) row { r.bound = &bound{value: v}; return r }
func (r row) most(v float64) row  { r.bound = &bound{value: v, most: true}; return r }

// met is yes, MISSED, or empty where there is no target.
func (r row) met() string {
	switch {
	case r.bound == nil:
		return ""
	case r.bound.most == (r.Ratio <= r.bound.value) || r.Ratio == r.bound.value:
		return "yes"
	default:
		return "MISSED"
	}
}
