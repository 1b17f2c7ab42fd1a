package ledger

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

var updating = flag.Bool("update", false, "write docs/conformance.md instead of comparing the run with it")

// Run gathers the results of one run of a test package. Its zero value is
// ready, and its methods may be called concurrently.
type Run struct {
	mu      sync.Mutex
	results []brokertest.Result
}

// Add takes the result of one configuration. Where an emulator or a fake stands
// in for a broker, the caller has named it in r.Broker before: that is what the
// ledger shows.
func (r *Run) Add(result brokertest.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = slices.DeleteFunc(r.results, func(o brokertest.Result) bool { return o.Name == result.Name }) // -count
	r.results = append(r.results, result)
}

// End compares the run with the ledger, or writes it, and returns the exit code
// for the tests, given the one so far. What differs is on standard error.
//
// Configurations of which flags left cases out are not looked at, so that one
// topic can be run by itself.
func (r *Run) End(code int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole := slices.DeleteFunc(slices.Clone(r.results), func(o brokertest.Result) bool { return !o.Whole })
	act := Check
	if *updating {
		act = Update
	}
	if err := act(whole); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
