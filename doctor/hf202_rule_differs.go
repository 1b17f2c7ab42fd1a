package doctor

import (
	"fmt"
	"strings"
)

var ruleDiffers = Check{
	ID: "HF202", Title: "alert rule that differs from the one shipped", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) (found []Finding) {
		for _, loaded := range f.Prometheus.Rules {
			r, ours := shipped(loaded.Name)
			if !ours || compact(loaded.Query) == compact(r.Expr) {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("alert rule %q", r.Name),
				Summary:  "it is loaded with another expression than this version ships",
				Evidence: []string{"loaded: " + loaded.Query, "shipped: " + r.Expr},
				Notice:   "an alert that comes late, too often, or never",
				Remedy: []string{
					"holdfast rules > holdfast.yml",
					f.Prometheus.reload(),
					"a threshold of your own is as well: accept the finding with its reason (holdfast doctor --baseline)",
				},
				Limits: "the two may mean the same",
			})
		}
		return found
	},
}

// compact is an expression without the spaces that versions of Prometheus write
// differently. What is quoted stays as it is.
func compact(expr string) string {
	var b strings.Builder
	for i, part := range strings.Split(expr, `"`) {
		if i > 0 {
			b.WriteByte('"')
		}
		if i%2 == 0 {
			part = strings.Join(strings.Fields(part), "")
		}
		b.WriteString(part)
	}
	return b.String()
}
