package doctor

import (
	"errors"
	"strings"

	"github.com/holdfast-mq/holdfast/store"
)

var tablesDiffer = Check{
	ID: "HF108", Title: "tables that are not as they should be, or may not be used", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) []Finding {
		if f.Store.Err == nil {
			return nil
		}
		remedy := "holdfast migrate --check, then holdfast migrate"
		if errors.Is(f.Store.Err, store.ErrRefused) {
			remedy = "grant what is named above to the relay's user"
		}
		return []Finding{{
			Severity: Error, Subject: "tables of " + f.Store.Name, Summary: "they are not what this version of Holdfast works with",
			Evidence: cut(strings.Split(f.Store.Err.Error(), "\n")),
			Notice:   "relays do not start, and services that add to the outbox fail",
			Remedy:   []string{remedy},
		}}
	},
}
