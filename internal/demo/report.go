package demo

import (
	"fmt"
	"strings"
)

// Report is the books for people, in sentences no wider than width columns.
func (r Result) Report(width int) string {
	f := r.fates
	sentences := []string{
		fmt.Sprintf("%s: %d charged, %d discarded, %d parked, %d lost; %s.",
			count(f.orders, "order"), f.charged, f.discarded, f.parked, r.Lost, r.twice()),
		fmt.Sprintf("%s: received %d = %d done + %d delayed + %d held + %d parked + %d discarded; %d of those parked were replayed.",
			r.balance(), r.Received, r.Done, r.Delayed, r.Held, r.Parked, r.Discarded, r.Replayed),
	}
	var b strings.Builder
	for _, s := range sentences {
		b.WriteString(strings.Join(wrap(s, columns(width)), "\n") + "\n")
	}
	return b.String()
}

func (r Result) twice() string {
	if r.Duplicates == 0 {
		return "none came twice"
	}
	return fmt.Sprintf("%d came twice, and the second time nothing was done", r.Duplicates)
}

func (r Result) balance() string {
	if r.Balanced {
		return "The books balance"
	}
	return "The books do not balance"
}

// Verdict is what is wrong with the result; empty when nothing is.
func (r Result) Verdict() string {
	switch {
	case r.Lost > 0:
		return count(r.Lost, "order") + " lost: neither charged, nor discarded, nor parked"
	case !r.Balanced:
		return "the books do not balance"
	default:
		return ""
	}
}
