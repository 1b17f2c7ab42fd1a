package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/store"
)

// todo is what a class of failure asks for, before the rows are armed again.
var todo = map[store.Class]string{
	store.ClassUnrouted:   "bind the key that is published: no queue took it",
	store.ClassMissing:    "declare the destination: it did not exist",
	store.ClassPermission: "grant write on the destination: it was refused with 403",
	store.ClassRefused:    "make room: the broker refused to store it",
	store.ClassUnknown:    "find out whether it was delivered: the confirm never came",
}

var outboxFailed = Check{
	ID: "HF102", Title: "outbox rows that failed and wait for a person", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		for _, g := range f.Store.Outbox.Groups {
			if g.State != store.Failed {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("%s, class %q", f.destination(g.Destination), g.Class),
				Summary:  fmt.Sprintf("%s failed, the oldest written %s ago", count(int64(g.Count), "row"), days(g.Oldest)),
				Evidence: []string{fmt.Sprintf("%d rows of class %q", g.Count, g.Class)},
				Notice:   "what these events were to cause never happens by itself",
				Remedy: []string{
					orDefault(todo[g.Class], "read the error of one: holdfast outbox list"),
					fmt.Sprintf("holdfast outbox rearm --class %s --destination %s", g.Class, shell(g.Destination)),
				},
			})
		}
		return found
	},
}
