package holdfast

import (
	"fmt"
	"testing"
	"time"
)

// brakeStep is n messages of one kind, after a wait.
type brakeStep struct {
	wait        time.Duration
	n           int
	fingerprint string
}

func TestBrakeWindow(t *testing.T) {
	t.Parallel()
	cfg := Brake{Share: 0.5, Window: time.Minute, Min: 10}
	for name, c := range map[string]struct {
		steps []brakeStep
		trips bool
	}{
		"nothing but successes":             {steps: []brakeStep{{n: 1000}}},
		"one below the least":               {steps: []brakeStep{{n: 9, fingerprint: "a"}}},
		"the least":                         {steps: []brakeStep{{n: 10, fingerprint: "a"}}, trips: true},
		"half is not more than half":        {steps: []brakeStep{{n: 20}, {n: 20, fingerprint: "a"}}},
		"one more than half":                {steps: []brakeStep{{n: 20}, {n: 21, fingerprint: "a"}}, trips: true},
		"two causes that are half each":     {steps: []brakeStep{{n: 1}, {n: 9, fingerprint: "a"}, {n: 9, fingerprint: "b"}, {n: 1, fingerprint: "a"}}},
		"the successes were long ago":       {steps: []brakeStep{{n: 1000}, {wait: time.Minute, n: 10, fingerprint: "a"}}, trips: true},
		"the successes are in the window":   {steps: []brakeStep{{n: 1000}, {wait: 50 * time.Second, n: 10, fingerprint: "a"}}},
		"the failures were long ago":        {steps: []brakeStep{{n: 9, fingerprint: "a"}, {wait: time.Minute, n: 9, fingerprint: "a"}}},
		"failures over the whole window":    {steps: []brakeStep{{n: 5, fingerprint: "a"}, {wait: 50 * time.Second, n: 5, fingerprint: "a"}}, trips: true},
		"every failure is one of its own":   {steps: distinct(500)},
		"the clock goes back":               {steps: []brakeStep{{n: 5, fingerprint: "a"}, {wait: -time.Hour, n: 9, fingerprint: "a"}}},
		"known ones count past the maximum": {steps: append([]brakeStep{{n: 5, fingerprint: "a"}}, append(distinct(100), brakeStep{n: 150, fingerprint: "a"})...), trips: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := brakeWindow{cfg: cfg}
			now, trips := time.Unix(1_700_000_000, 0), false
			for _, step := range c.steps {
				now = now.Add(step.wait)
				for range step.n {
					trips = w.add(now, step.fingerprint) || trips
				}
			}
			if trips != c.trips {
				t.Errorf("trips: %v, want %v", trips, c.trips)
			}
			for i := range w.parts {
				if n := len(w.parts[i].parked); n > maxFingerprints {
					t.Errorf("%d fingerprints are remembered", n)
				}
			}
		})
	}
}

func distinct(n int) (steps []brakeStep) {
	for i := range n {
		steps = append(steps, brakeStep{n: 1, fingerprint: fmt.Sprint("one ", i)})
	}
	return steps
}

func TestBrakeConfig(t *testing.T) {
	t.Parallel()
	for _, good := range []Brake{{}, {Share: 0.5}, {Share: 0.01, Window: time.Second, Min: 1, Probe: time.Second}, {Share: 0.99, Window: time.Hour, Min: 1e6, Probe: 24 * time.Hour}} {
		if err := good.withDefaults().validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []Brake{
		{Min: 3},
		{Share: 1},
		{Share: -0.1},
		{Share: 0.5, Window: time.Millisecond},
		{Share: 0.5, Window: 2 * time.Hour},
		{Share: 0.5, Min: -1},
		{Share: 0.5, Min: 1e7},
		{Share: 0.5, Probe: -1},
		{Share: 0.5, Probe: time.Millisecond},
		{Share: 0.5, Probe: 25 * time.Hour},
	} {
		if bad.withDefaults().validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
