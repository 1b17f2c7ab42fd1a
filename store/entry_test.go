package store

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestIsID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"0192f0c1-0000-7000-8000-00000000000a": true, "0192F0C1-0000-7000-8000-00000000000A": false,
		"0192f0c1000070008000-00000000000a": false, "": false, "0192f0c1-0000-7000-8000-00000000000g": false,
		"0192f0c1-0000-7000-8000_00000000000a": false,
	} {
		if IsID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

func TestEntry_Validate(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Entry){
		"":            func(*Entry) {},
		"ID":          func(e *Entry) { e.ID = "7" },
		"Lane":        func(e *Entry) { e.Lane = Lanes },
		"Keys":        func(e *Entry) { e.Keys = nil },
		"NotBefore":   func(e *Entry) { e.NotBefore = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"Destination": func(e *Entry) { e.Destination = "a\x00" },
		"OrderingKey": func(e *Entry) { e.OrderingKey = "\xff" },
		"Headers":     func(e *Entry) { e.Headers = map[string]string{"a": "\x00"} },
	} {
		e := Entry{ID: "0192f0c1-0000-7000-8000-00000000000a", Keys: []string{"k"}}
		change(&e)
		err := e.Validate()
		if field == "" != (err == nil) || err != nil && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+field+": ")) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
