package main

import "testing"

func TestRatioIsThatOfTheMedians(t *testing.T) {
	ours := []result{{rate: 10}, {rate: 30}, {rate: 20}}
	peer := []result{{rate: 5}, {rate: 10}, {rate: 40}}
	r := compare("x", "msg/s", ours, peer, result.byRate)
	if r.Ours != 20 || r.Peer != 10 || r.Ratio != 2 || r.Rounds != 3 {
		t.Errorf("ours %v, peer %v, ratio %v, rounds %d", r.Ours, r.Peer, r.Ratio, r.Rounds)
	}
	if r.low != 0.5 || r.high != 3 {
		t.Errorf("the rounds range from %v to %v, not 0.5 to 3", r.low, r.high)
	}
}

func TestMedianOfAnEvenNumber(t *testing.T) {
	if m := median([]float64{4, 1, 2, 10}); m != 3 {
		t.Errorf("got %v, want 3", m)
	}
}

func TestMet(t *testing.T) {
	for _, c := range []struct {
		row  row
		want string
	}{
		{row{Ratio: 0.9}, ""},
		{row{Ratio: 0.9}.least(1), "MISSED"},
		{row{Ratio: 1}.least(1), "yes"},
		{row{Ratio: 1.1}.least(1), "yes"},
		{row{Ratio: 0.9}.most(1), "yes"},
		{row{Ratio: 1}.most(1), "yes"},
		{row{Ratio: 1.1}.most(1), "MISSED"},
	} {
		if got := c.row.met(); got != c.want {
			t.Errorf("ratio %v, bound %+v: %q, want %q", c.row.Ratio, c.row.bound, got, c.want)
		}
	}
}
