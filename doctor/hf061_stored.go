package doctor

import "fmt"

var storedPasswordDiffers = Check{
	ID: "HF061", Title: "password that is stored in two places and differs", Needs: SourceService, Runbook: driftPage,
	Find: func(f *Facts) []Finding {
		s := f.Service
		if !s.Stored || !s.StoredDiffers {
			return nil
		}
		right := "which of the two the broker takes is not known: it does not answer"
		switch s.Login {
		case nil:
			right = "the broker takes the one in the URL"
		default:
			if loginRefused.Find(f) != nil {
				right = "the broker refuses the one in the URL"
			}
		}
		return []Finding{{
			Severity: Warning, Subject: fmt.Sprintf("password of user %q", s.User),
			Summary:  "the two places where it is kept have different ones",
			Evidence: []string{right, "compared here, and shown nowhere"},
			Notice:   "nothing, until whichever is wrong is used at a restart",
			Remedy:   []string{"write both from one place", "better: keep one, and compose the URL from it at the start"},
		}}
	},
}
