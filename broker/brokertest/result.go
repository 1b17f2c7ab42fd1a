package brokertest

// Status is what came of a case. The set is closed.
type Status string

// The statuses.
const (
	// Passed: the promise is kept.
	Passed Status = "passed"

	// Failed: it is not, or the case could not find out.
	Failed Status = "failed"

	// NotForBroker: the case was not run; Outcome.Cause and Outcome.Why say why.
	NotForBroker Status = "not for this broker"
)

// Cause is why a case was not run. The set is closed.
type Cause string

// The causes.
const (
	// Undeclared: the broker does not declare what the case needs. Another
	// case proves that the broker refuses it.
	Undeclared Cause = "undeclared"

	// Declared: the case proves a refusal, and the broker declares that it can.
	// Another case proves that it does.
	Declared Cause = "declared"

	// NotGiven: the author of the Env did not give what the case needs. Nothing
	// is proven in its place.
	NotGiven Cause = "not given"

	// Skipped: a function of the Env skipped the case. Nothing is proven in its
	// place.
	Skipped Cause = "skipped"
)

// Outcome is what came of one case.
type Outcome struct {
	// Topic and Case name the promise. Together they are unique and the same
	// for every broker: a row in a table of brokers.
	Topic string
	Case  string

	Status Status

	// Cause and Why say why the case was not run, for programs and for people.
	// They are empty for a case that was.
	Cause Cause
	Why   string

	test ended // of a case that was run
}

// ended is a [testing.T] that has ended.
type ended interface {
	Failed() bool
	Skipped() bool
}

// Result is what came of one [Run].
type Result struct {
	// Name is Env.Name.
	Name string

	// Broker is the product and version that sessions declared, and empty when
	// no session could say.
	Broker string

	// Outcomes has every case in the order of the suite, except those that the
	// flags of go test left out.
	Outcomes []Outcome

	// Whole says that no case was left out.
	Whole bool
}

// Count counts the cases of one status.
func (r *Result) Count(s Status) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == s {
			n++
		}
	}
	return n
}

// conclude asks the tests that were run, all of which have ended by now, what
// came of them. It is asked then and not at the end of each, so that what a
// cleanup or the race detector finds late is counted too.
func conclude(outcomes []Outcome) (concluded []Outcome) {
	for _, o := range outcomes {
		switch {
		case o.Status == NotForBroker:
		case o.test == nil: // left out by -run or -failfast
			continue
		case o.test.Failed():
			o.Status = Failed
		case o.test.Skipped():
			o.Status, o.Cause, o.Why = NotForBroker, Skipped, "skipped by a function of Env"
		default:
			o.Status = Passed
		}
		o.test = nil
		concluded = append(concluded, o)
	}
	return concluded
}
