package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

func passed(name string) brokertest.Outcome {
	return brokertest.Outcome{Topic: brokertest.Contract, Case: name, Status: brokertest.Passed}
}

func notRun(name string, cause brokertest.Cause, why string) brokertest.Outcome {
	return brokertest.Outcome{
		Topic: brokertest.Contract, Case: name, Status: brokertest.NotForBroker, Cause: cause, Why: why,
	}
}

const longReason = "a limit cannot be read | over this protocol"

// memory and rabbit are two whole results.
func memory() brokertest.Result {
	return brokertest.Result{
		Name: "membroker", Broker: "membroker", Whole: true, Outcomes: []brokertest.Outcome{
			{Topic: "park", Case: "parks_at_once", Status: brokertest.Passed},
			passed("comes_back"), passed("parks"), passed("is_limited"),
		},
	}
}

func rabbit() brokertest.Result {
	return brokertest.Result{
		Name: "RabbitMQ 4.3 quorum", Broker: "RabbitMQ 4.3.6", Whole: true, Outcomes: []brokertest.Outcome{
			{Topic: "park", Case: "parks_at_once", Status: brokertest.Passed},
			notRun("comes_back", brokertest.Undeclared, "Delay is not declared"), passed("parks"),
			notRun("is_limited", brokertest.NotGiven, longReason),
		},
	}
}

func list(results ...brokertest.Result) []brokertest.Result { return results }

// written is the text of a page that these results were merged into.
func written(t *testing.T, text string, results ...brokertest.Result) string {
	t.Helper()
	p, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p.merge(results)
	return p.render()
}

func TestRenderShowsEveryConfiguration(t *testing.T) {
	t.Parallel()
	text := written(t, "", memory(), rabbit())
	for _, line := range []string{
		"| configuration | 1 | 2 | 3 |",
		"2. `parks`",
		"| membroker | pass | pass | pass |",
		"| RabbitMQ 4.3 quorum | unsupported (Delay is not declared) | pass | deferred (note 1) |",
		"1. a limit cannot be read / over this protocol",
		"| SQS FIFO SNS | deferred (not run yet) | deferred (not run yet) | deferred (not run yet) |",
		"| membroker | membroker | 4 | 0 |",
		"| RabbitMQ 4.3 quorum | RabbitMQ 4.3 | 2 | 2 |",
		"| RocketMQ | not run yet | - | - |",
		"4 of 72 cells pass.",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("there is no %q in\n%s", line, text)
		}
	}
}

func TestParseReadsWhatRenderWrote(t *testing.T) {
	t.Parallel()
	text := written(t, "", memory(), rabbit())
	p, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if again := p.render(); again != text {
		t.Errorf("read and written again it is\n%s, not\n%s", again, text)
	}
	if err := compare(text, list(memory(), rabbit())); err != nil {
		t.Error(err)
	}
}

func TestUpdateKeepsOtherRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conformance.md")
	for _, results := range [][]brokertest.Result{list(rabbit()), list(memory())} {
		if err := update(path, results); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(string(text), list(memory(), rabbit())); err != nil {
		t.Errorf("a row was lost: %v\n%s", err, text)
	}
}

// TestNewBehaviour: who ran before a promise was made has not proven it.
func TestNewBehaviour(t *testing.T) {
	t.Parallel()
	more := memory()
	more.Outcomes = append(more.Outcomes, passed("is_new"))
	text := written(t, written(t, "", rabbit()), more)
	if want := "| unsupported (Delay is not declared) | pass | deferred (note 1) | deferred (not run yet) |"; !strings.Contains(text, want) {
		t.Errorf("there is no %q in\n%s", want, text)
	}
	wantError(t, compare(text, list(rabbit())), "ledger: it has is_new, and the contract has not")
	wantError(t, compare(written(t, "", memory()), list(more)), "ledger: it has no is_new",
		`membroker: is_new: it says "deferred (not run yet)", and the run found "pass"`)
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("there is no error, and it should say %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error says\n%v\nand not %q", err, text)
		}
	}
}

func TestCompareNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	text := written(t, "", memory(), rabbit())
	for name, c := range map[string]struct {
		change func(r *brokertest.Result)
		want   []string
	}{
		"a promise that is lost": {
			func(r *brokertest.Result) { r.Outcomes[2] = notRun("parks", brokertest.Skipped, "skipped") },
			[]string{
				`RabbitMQ 4.3 quorum: parks: it says "pass", and the run found "deferred (skipped)"`,
				"it says that 2 cases passed and 2 are not for this broker, and it was 1 and 3",
			},
		},
		"a promise that is won": {
			func(r *brokertest.Result) { r.Outcomes[1] = passed("comes_back") },
			[]string{`comes_back: it says "unsupported (Delay is not declared)", and the run found "pass"`},
		},
		"another reason": {
			func(r *brokertest.Result) { r.Outcomes[3].Why = "nobody knows" },
			[]string{`is_limited: it says "deferred (a limit cannot be read / over this protocol)", and the run found "deferred (nobody knows)"`},
		},
		"another version": {
			func(r *brokertest.Result) { r.Broker = "RabbitMQ 4.4.0" },
			[]string{`it says that the broker is "RabbitMQ 4.3", and it was "RabbitMQ 4.4"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rabbit()
			c.change(&r)
			wantError(t, compare(text, list(memory(), r)), c.want...)
		})
	}
}

func TestCompareFindsAnEditByHand(t *testing.T) {
	t.Parallel()
	text := written(t, "", memory(), rabbit())
	for name, edited := range map[string]string{
		"a row is gone":           strings.Replace(text, "| RocketMQ | not run yet | - | - |\n", "", 1),
		"a row nobody has proven": strings.Replace(text, "4 of 72", "72 of 72", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, compare(edited, list(memory())), "edited by hand")
		})
	}
	broken := strings.Replace(text, "(note 1)", "(note 7)", 1)
	wantError(t, compare(broken, list(memory())), "RabbitMQ 4.3 quorum: is_limited: there is no note 7")
	wantError(t, compare(strings.Replace(text, "| pass |", "| fine |", 1), list(memory())), `membroker: comes_back: "fine" is no cell`)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	failed, part, stranger, unnamed := memory(), memory(), memory(), memory()
	failed.Outcomes[0].Status = brokertest.Failed
	part.Whole = false
	stranger.Name = "Kafka"
	unnamed.Broker = ""
	good, err := usable(list(rabbit(), failed, part, stranger, unnamed))
	wantError(t, err, "ledger: membroker: park/parks_at_once failed", "ledger: membroker: flags left cases out",
		`ledger: there is no row for "Kafka"`, "ledger: membroker: no session named its broker")
	if len(good) != 1 || good[0].Name != rabbit().Name {
		t.Errorf("usable are %+v", good)
	}
}

// TestFailure: what failed is no reason to keep what others proved from the
// page, and what is written is no reason to keep silent on the failure.
func TestFailure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conformance.md")
	failed := memory()
	failed.Outcomes[1].Status = brokertest.Failed
	wantError(t, update(path, list(failed)), "membroker: contract/comes_back failed", "nothing to write")
	wantError(t, update(path, list(failed, rabbit())), "membroker: contract/comes_back failed")
	if err := check(path, list(rabbit())); err != nil {
		t.Error(err)
	}
	wantError(t, check(path, list(failed, rabbit())), "membroker: contract/comes_back failed")
	wantError(t, check(path, list(memory())), `membroker: parks: it says "deferred (not run yet)", and the run found "pass"`, "go test -update")
	if err := check(path, nil); err != nil {
		t.Errorf("a run without a configuration: %v", err)
	}
}

// TestRun: a configuration of which only a part was run is not looked at, and
// one that failed fails the run.
func TestRun(t *testing.T) {
	t.Parallel()
	part, failed := memory(), memory()
	part.Whole = false
	failed.Outcomes[1].Status = brokertest.Failed
	var r Run
	r.Add(part)
	if code := r.End(0); code != 0 {
		t.Errorf("a part ends with %d", code)
	}
	r.Add(failed)
	if code := r.End(0); code != 1 {
		t.Errorf("a failure ends with %d", code)
	}
	if code := new(Run).End(2); code != 2 {
		t.Errorf("what failed before ends with %d", code)
	}
}

// TestCommitted: the page in the tree is one that render wrote, whatever was run
// last.
func TestCommitted(t *testing.T) {
	t.Parallel()
	path, err := find()
	if err != nil {
		t.Fatal(err)
	}
	text, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.render() != text {
		t.Errorf("%s is not as it was written", file)
	}
}
