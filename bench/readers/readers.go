// Package readers measures what the count costs a driver's reader. A driver's tests hand in its own reader and the same
// reading without the count; `make bench` runs their benchmarks.
package readers

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Messages is how many raw messages a driver captures, once, and how many one round reads.
const Messages = 1000

// The units of what [Benchmark] reports: for one message, with the count and without it.
const (
	CountedAllocs = "counted-allocs/msg"
	PlainAllocs   = "plain-allocs/msg"
	CountedTime   = "counted-ns/msg"
	PlainTime     = "plain-ns/msg"
)

// rounds is how many passes are made, at most, to find what one allocates at least.
const rounds = 5

// Read reads captured message i, of 0 to Messages-1, and returns what the core is told of it. It makes a delivery of its own
// each time, and leaves the captured message fit to be read again.
type Read func(i int) (*broker.Message, broker.Facts)

// Case is messages of one kind.
type Case struct {
	Name string

	// Counted is the driver's own reader. Plain is the same and neither reads the broker's counter nor resolves a count.
	Counted Read
	Plain   Read

	// Attempt and Crashes are what Counted says of each message.
	Attempt int
	Crashes int
}

// Check asserts that the readers of each case tell the same but for the count, that the count is right, and that it
// adds no allocation. It must not be called by a parallel test.
func Check(t *testing.T, cases ...Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			c.compare(t)
			counted, plain := c.allocations()
			if counted != plain { // fewer would hide some of the count's own: then Plain pays for something else
				t.Errorf("%v allocations for each message with the count, and %v without", counted, plain)
			}
		})
	}
}

// compare keeps Plain from being another reading than the one that is measured.
func (c Case) compare(t *testing.T) {
	t.Helper()
	for i := range Messages {
		m, facts := c.Counted(i)
		if m.Attempt != c.Attempt || facts.Crashes != c.Crashes {
			t.Fatalf("message %d: attempt %d and %d crashes, not %d and %d", i, m.Attempt, facts.Crashes, c.Attempt, c.Crashes)
		}
		plain, plainFacts := c.Plain(i)
		// What the counter alone tells.
		m.Attempt, facts.Crashes, facts.Unstamped = plain.Attempt, plainFacts.Crashes, plainFacts.Unstamped
		m.Redelivered, facts.Redelivered = plain.Redelivered, plainFacts.Redelivered
		if !reflect.DeepEqual(m, plain) || !reflect.DeepEqual(facts, plainFacts) {
			t.Fatalf("message %d is\n%+v %+v\nand without the count\n%+v %+v", i, m, facts, plain, plainFacts)
		}
	}
}

// allocations are what a message takes in each way: the fewest of some passes, since a runtime that does something else
// meanwhile adds and never takes away.
func (c Case) allocations() (counted, plain float64) {
	counted, plain = math.Inf(1), math.Inf(1)
	for range rounds {
		counted = min(counted, perMessage(testing.AllocsPerRun(1, func() { pass(c.Counted) })))
		plain = min(plain, perMessage(testing.AllocsPerRun(1, func() { pass(c.Plain) })))
		if counted == plain {
			break
		}
	}
	return counted, plain
}

// perMessage is what a pass allocates for one message, to two places. The messages are alike, so that what reading one
// takes, each takes; the rest is a handful of the runtime's own.
func perMessage(allocations float64) float64 { return math.Round(100*allocations/Messages) / 100 }

// told keeps what was read from being left on the stack.
var told struct {
	message *broker.Message
	facts   broker.Facts
}

func pass(read Read) { some(read, 0, Messages) }

func some(read Read, from, to int) {
	for i := from; i < to; i++ {
		told.message, told.facts = read(i)
	}
}

// turn is how many messages one way reads until the other has its turn.
const turn = 100

// Benchmark measures c. One operation is Messages read in each way, in turns that begin with another way each time: whoever is
// first pays for the collection before.
func Benchmark(b *testing.B, c Case) {
	pass(c.Counted)
	pass(c.Plain)
	counted, plain := &cost{read: c.Counted}, &cost{read: c.Plain}
	for b.Loop() {
		first, second := counted, plain
		for from := 0; from < Messages; from += turn {
			first.add(from, from+turn)
			second.add(from, from+turn)
			first, second = second, first
		}
	}
	counted.report(b, CountedTime, CountedAllocs)
	plain.report(b, PlainTime, PlainAllocs)
}

// cost is what reading in one way took so far.
type cost struct {
	read        Read
	time        time.Duration
	allocations uint64
}

func (c *cost) add(from, to int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	some(c.read, from, to)
	c.time += time.Since(began)
	runtime.ReadMemStats(&after)
	c.allocations += after.Mallocs - before.Mallocs
}

func (c *cost) report(b *testing.B, timeUnit, allocsUnit string) {
	passes := float64(b.N)
	b.ReportMetric(float64(c.time.Nanoseconds())/passes/Messages, timeUnit)
	b.ReportMetric(perMessage(float64(c.allocations)/passes), allocsUnit)
}
