package holdfast

import (
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// able is a fresh delivery on a broker that can do everything.
func able(change ...func(*facts)) facts {
	f := facts{attempt: 1, try: 1, canDelay: true, canHold: true}
	for _, c := range change {
		c(&f)
	}
	return f
}

func testPolicy(change ...func(*Policy)) Policy {
	p := Policy{Ladder: []time.Duration{time.Second, 10 * time.Second, 30 * time.Second}, Laps: 2, Crashes: 3}
	for _, c := range change {
		c(&p)
	}
	return p.withDefaults()
}

func TestDecide(t *testing.T) {
	t.Parallel()
	retry, hold, park := ruling{kind: kindRetry}, ruling{kind: kindHold}, ruling{kind: kindPark}
	attempt := func(n int) func(*facts) { return func(f *facts) { f.attempt = n } }
	lap := func(n int) func(*facts) { return func(f *facts) { f.lap = n } }
	stopping := func(f *facts) { f.stopping = true }
	oversize := func(f *facts) { f.oversize = true }
	noHold := func(f *facts) { f.canHold = false }
	noDelay := func(f *facts) { f.canDelay = false }
	tries := func(p *Policy) { p.Tries = 2 }
	exhaustedHold := func(p *Policy) { p.Exhausted = ExhaustedHold }
	noRetry := func(p *Policy) { p.Ladder = []time.Duration{} }

	tests := []struct {
		name   string
		policy Policy
		facts  facts
		ruling ruling
		want   decision
	}{
		{"a plain error takes the first rung", testPolicy(), able(), ruling{}, decision{fate: broker.FateDelay, wait: time.Second, attempt: 2}},
		{"the second attempt takes the second rung", testPolicy(), able(attempt(2)), retry, decision{fate: broker.FateDelay, wait: 10 * time.Second, attempt: 3}},
		{"the last attempt parks", testPolicy(), able(attempt(4)), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 4}},
		{"an attempt beyond the ladder parks", testPolicy(), able(attempt(99)), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 99}},
		{"an empty ladder parks on the first delivery", testPolicy(noRetry), able(), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 1}},
		{"a try is left", testPolicy(tries), able(), retry, decision{run: true, wait: 100 * time.Millisecond, attempt: 1}},
		{"tries are spent", testPolicy(tries), able(func(f *facts) { f.try = 2 }), retry, decision{fate: broker.FateDelay, wait: time.Second, attempt: 2}},
		{"a try would be sooner than asked", testPolicy(tries), able(), ruling{kind: kindRetry, after: time.Second}, decision{fate: broker.FateDelay, wait: time.Second, attempt: 2}},
		{"RetryAfter takes a rung that is long enough", testPolicy(), able(), ruling{kind: kindRetry, after: 5 * time.Second}, decision{fate: broker.FateDelay, wait: 10 * time.Second, attempt: 2}},
		{"RetryAfter beyond the ladder takes the longest rung", testPolicy(), able(), ruling{kind: kindRetry, after: time.Hour}, decision{fate: broker.FateDelay, wait: 30 * time.Second, attempt: 2}},
		{"exhausted may hold", testPolicy(exhaustedHold), able(attempt(4)), retry, decision{fate: broker.FateHold, wait: DefaultHold, attempt: 4, lap: 1}},
		{"exhausted does not hold for ever", testPolicy(exhaustedHold), able(attempt(4), lap(2)), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 4, lap: 2}},
		{"exhausted parks where nothing can be held", testPolicy(exhaustedHold), able(attempt(4), noHold), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 4}},
		{"hold spends a lap and no attempt", testPolicy(), able(attempt(3)), hold, decision{fate: broker.FateHold, wait: DefaultHold, attempt: 3, lap: 1}},
		{"hold works on the last attempt", testPolicy(), able(attempt(4)), hold, decision{fate: broker.FateHold, wait: DefaultHold, attempt: 4, lap: 1}},
		{"spent laps park", testPolicy(), able(lap(2)), hold, decision{fate: broker.FatePark, reason: ReasonLapsExhausted, attempt: 1, lap: 2}},
		{"a lower cap does not invalidate laps", testPolicy(), able(lap(50)), hold, decision{fate: broker.FatePark, reason: ReasonLapsExhausted, attempt: 1, lap: 50}},
		{"no way back, no hold", testPolicy(), able(noHold), hold, decision{fate: broker.FatePark, reason: ReasonNoncanonicalRoute, attempt: 1}},
		{"park parks on the first attempt", testPolicy(tries), able(), park, decision{fate: broker.FatePark, reason: ReasonVerdict, attempt: 1}},
		{"malformed has its own reason", testPolicy(), able(), ruling{kind: kindPark, malformed: true}, decision{fate: broker.FatePark, reason: ReasonMalformed, attempt: 1}},
		{"discard discards", testPolicy(), able(), ruling{kind: kindDiscard}, decision{fate: broker.FateDiscard, attempt: 1}},
		{"a handler that returned starts with no crashes", testPolicy(), able(func(f *facts) { f.crashes = 2 }), retry, decision{fate: broker.FateDelay, wait: time.Second, attempt: 2}},
		{"and so does one that holds", testPolicy(), able(func(f *facts) { f.crashes = 2 }), hold, decision{fate: broker.FateHold, wait: DefaultHold, attempt: 1, lap: 1}},
		{"a parked copy keeps the count", testPolicy(), able(func(f *facts) { f.crashes = 2 }), park, decision{fate: broker.FatePark, reason: ReasonVerdict, attempt: 1, crashes: 2}},
		{"no room for a rung", testPolicy(), able(oversize), retry, decision{fate: broker.FatePark, reason: ReasonOversize, attempt: 1}},
		{"no room for a hold", testPolicy(), able(oversize), hold, decision{fate: broker.FatePark, reason: ReasonOversize, attempt: 1}},
		{"a broker without delays", testPolicy(), able(noDelay), retry, decision{fate: broker.FatePark, reason: ReasonExhausted, attempt: 1}},
		{"cut off by the shutdown, nothing is spent", testPolicy(), able(attempt(4), stopping), retry, decision{fate: broker.FateRelease, attempt: 4}},
		{"cut off by the shutdown, no lap is spent", testPolicy(), able(stopping), hold, decision{fate: broker.FateRelease, attempt: 1}},
		{"a park is a park, also at the end", testPolicy(), able(stopping), park, decision{fate: broker.FatePark, reason: ReasonVerdict, attempt: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := decide(tt.policy, tt.facts, tt.ruling); got != tt.want {
				t.Errorf("decide:\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	crashes := func(n int) func(*facts) { return func(f *facts) { f.crashes = n } }
	counted := func(attempt, base int) func(*facts) {
		return func(f *facts) { f.attempt, f.base, f.counted = attempt, base, true }
	}
	tests := []struct {
		name  string
		facts facts
		want  decision
	}{
		{"a first delivery runs", able(), decision{run: true, attempt: 1}},
		{"a suspect runs below the bound", able(crashes(2)), decision{run: true, attempt: 1, crashes: 2}},
		{"the bound parks unrun", able(crashes(3)), decision{fate: broker.FatePark, reason: ReasonCrashLoop, attempt: 1, crashes: 3}},
		{"an unstamped crash is stamped first", able(crashes(1), func(f *facts) { f.unstamped = true }), decision{fate: broker.FateRelease, stamped: true, attempt: 1, crashes: 1}},
		{"an unstamped crash at the bound parks", able(crashes(3), func(f *facts) { f.unstamped = true }), decision{fate: broker.FatePark, reason: ReasonCrashLoop, attempt: 1, crashes: 3}},
		{"the last attempt that a broker counts runs", able(counted(4, 1)), decision{run: true, attempt: 4}},
		{"deliveries beyond the budget run below the crash bound", able(counted(6, 1)), decision{run: true, attempt: 6}},
		{"and park unrun at it", able(counted(7, 1)), decision{fate: broker.FatePark, reason: ReasonCrashLoop, attempt: 7}},
		{"a stamp is no delivery that was lost", able(counted(1000, 1000)), decision{run: true, attempt: 1000}},
		{"lost deliveries of a stamped copy count", able(counted(1003, 1000)), decision{fate: broker.FatePark, reason: ReasonCrashLoop, attempt: 1003}},
		{"retries of a stamped copy do not", able(counted(5, 2)), decision{run: true, attempt: 5}},
		{"back too early waits on", able(func(f *facts) { f.attempt = 2; f.early = 5 * time.Second }), decision{fate: broker.FateDelay, wait: 10 * time.Second, attempt: 2}},
		{"back too early by more than the ladder", able(func(f *facts) { f.attempt = 2; f.early = time.Hour }), decision{fate: broker.FateDelay, wait: 30 * time.Second, attempt: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := admit(testPolicy(), tt.facts); got != tt.want {
				t.Errorf("admit:\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// FuzzDecide proves for any facts that there is a fate, and that the policy
// allows it.
func FuzzDecide(f *testing.F) {
	f.Add(int8(3), int8(1), int8(2), int8(5), 1, 1, 0, 0, int64(0), "retry", int64(0), uint8(0xff))
	f.Add(int8(0), int8(9), int8(1), int8(1), 7, 2, 3, 4, int64(1e9), "hold", int64(5e9), uint8(0))
	f.Add(int8(1), int8(2), int8(1), int8(1), 1, 1, 1, 1, int64(-1), "park", int64(-5), uint8(0x55))
	kinds := map[string]verdictKind{"retry": kindRetry, "hold": kindHold, "park": kindPark, "discard": kindDiscard}
	f.Fuzz(func(t *testing.T, rungs, tries, laps, crashBound int8, attempt, try, lap, crashes int, early int64, kind string, after int64, bits uint8) {
		p := Policy{Tries: 1 + abs(tries)%maxTries, Laps: 1 + abs(laps)%maxLaps, Crashes: 1 + abs(crashBound)%maxCrashes, Ladder: []time.Duration{}}
		for i := range abs(rungs) % maxRungs {
			p.Ladder = append(p.Ladder, time.Duration(i+1)*time.Second)
		}
		if bits&1 != 0 {
			p.Exhausted = ExhaustedHold
		}
		p = p.withDefaults()
		fa := facts{
			attempt: max(attempt, 1), try: max(try, 1), lap: max(lap, 0), crashes: max(crashes, 0),
			unstamped: bits&2 != 0, oversize: bits&4 != 0, canDelay: bits&8 != 0, canHold: bits&16 != 0,
			early: time.Duration(early), stopping: bits&32 != 0, counted: bits&128 != 0, base: max(lap%5, 1),
		}
		r := ruling{kind: kinds[kind], after: min(max(time.Duration(after), 0), maxHold), malformed: bits&64 != 0}
		checkAdmit(t, p, fa, admit(p, fa))
		checkDecide(t, p, fa, r, decide(p, fa, r))
	})
}

func abs(n int8) int { return max(int(n), -int(n)) }

func checkAdmit(t *testing.T, p Policy, f facts, d decision) {
	t.Helper()
	if d.run != (d.fate == 0) {
		t.Fatalf("admit gave neither or both of a run and a fate: %+v", d)
	}
	if f.crashes >= p.Crashes && d.reason != ReasonCrashLoop {
		t.Fatalf("admit let a message run beyond the crash bound: %+v", d)
	}
	if f.counted && f.attempt >= max(f.base, len(p.Ladder)+1)+p.Crashes && d.reason != ReasonCrashLoop {
		t.Fatalf("admit let a message run beyond the attempts that the broker counts: %+v", d)
	}
	if d.attempt != f.attempt || d.lap != f.lap {
		t.Fatalf("admit spent something: %+v from %+v", d, f)
	}
	checkPossible(t, p, f, d)
}

func checkDecide(t *testing.T, p Policy, f facts, r ruling, d decision) {
	t.Helper()
	delayed, held, parked := d.fate == broker.FateDelay, d.fate == broker.FateHold, d.fate == broker.FatePark
	forbid(t, "neither or both of a run and a fate", d, d.run != (d.fate == 0))
	forbid(t, "a try beyond the policy's", d, d.run && f.try >= p.Tries)
	forbid(t, "a try that is too soon", d, d.run && (f.stopping || d.wait < r.after))
	forbid(t, "a failure called done", d, d.fate == broker.FateDone)
	forbid(t, "an attempt beyond the ladder", d, delayed && f.attempt > len(p.Ladder))
	forbid(t, "an attempt that is not counted", d, delayed && d.attempt != f.attempt+1)
	forbid(t, "a lap beyond the policy's", d, held && f.lap >= p.Laps)
	forbid(t, "a hold that counts something else", d, held && (d.lap != f.lap+1 || d.attempt != f.attempt))
	forbid(t, "a park without a reason, or a reason without a park", d, parked != d.reason.Valid())
	forbid(t, "a discard of what nobody discards", d, d.fate == broker.FateDiscard && r.kind != kindDiscard)
	forbid(t, "a shutdown that is charged", d, f.stopping && (delayed || held))
	forbid(t, "a crash charged to one that returned", d, !parked && d.crashes != 0)
	checkPossible(t, p, f, d)
}

func forbid(t *testing.T, what string, d decision, wrong bool) {
	t.Helper()
	if wrong {
		t.Fatalf("decide gave %s: %+v", what, d)
	}
}

// checkPossible checks what no fate may ask of the broker.
func checkPossible(t *testing.T, p Policy, f facts, d decision) {
	t.Helper()
	switch d.fate {
	case broker.FateDelay:
		if !f.canDelay || f.oversize {
			t.Fatalf("a delay that cannot be: %+v", d)
		}
		for _, rung := range p.Ladder {
			if rung == d.wait {
				return
			}
		}
		t.Fatalf("a delay of %v is no rung of %v", d.wait, p.Ladder)
	case broker.FateHold:
		if !f.canHold || f.oversize {
			t.Fatalf("a hold that cannot be: %+v", d)
		}
	}
}
