package jetstream

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestUnwritableHeaders: what the client does not write travels all the same,
// over any number of copies, and one that was read has nothing of ours.
func TestUnwritableHeaders(t *testing.T) {
	t.Parallel()
	send := wire(t)
	original := nats.Header{
		"plain": {"1"}, "a/b": {"2", " 3 "}, "(x)": {"100 %\t"}, "ä": {""}, "trailing": {"x ", "y"}, "Nats-Expected-Stream": {"S"},
	}
	want := map[string]any{
		"plain": "1", "a/b": []string{"2", " 3 "}, "(x)": "100 %\t", "ä": "", "trailing": []string{"x ", "y"},
	}
	h := original
	for copies := range 3 {
		if got := read(h, nil).Headers; !reflect.DeepEqual(got, want) {
			t.Errorf("after %d copies: %q, want %q", copies, got, want)
		}
		h = send(t, carried(h, keeping))
	}
	if len(original) != 6 || len(original["a/b"]) != 2 {
		t.Errorf("the original was changed: %q", original)
	}
}

// TestWritable holds our knowledge of the client against the client.
func TestWritable(t *testing.T) {
	t.Parallel()
	c := mustDial(t, &fake{})
	for r := rune(1); r < 0x180; r++ {
		name := "n" + string(r)
		err := c.nc.PublishMsg(&nats.Msg{Subject: "s", Header: nats.Header{name: {"v"}}})
		if writable(name, []string{"v"}) != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
