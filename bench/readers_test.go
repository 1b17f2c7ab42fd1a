package main

import (
	"strings"
	"testing"
)

func TestReadReaders(t *testing.T) {
	const round = "BenchmarkReader \t 1\t 5 ns/op\t 6.000 counted-allocs/msg\t 1500 counted-ns/msg\t 5.00 plain-allocs/msg\t 1250 plain-ns/msg\n"
	out := "goos: linux\n" + round + round + "PASS\nok  \tx\t0.1s\n"
	counted, plain, err := readReaders(out, 2)
	if err != nil || len(counted) != 2 || len(plain) != 2 {
		t.Fatalf("%v, %v, %v", counted, plain, err)
	}
	if counted[1] != (result{allocs: 6, read: 1.5}) || plain[1] != (result{allocs: 5, read: 1.25}) {
		t.Errorf("%+v, %+v", counted[1], plain[1])
	}
	for name, out := range map[string]string{
		"a round is missing": round,
		"no benchmark":       "PASS\n",
		"a unit is missing":  strings.ReplaceAll(out, "plain-allocs/msg", "allocs/op"),
		"no number":          strings.ReplaceAll(out, "1500", "many"),
	} {
		if _, _, err := readReaders(out, 2); err == nil {
			t.Errorf("%s, and nobody is told", name)
		}
	}
}
