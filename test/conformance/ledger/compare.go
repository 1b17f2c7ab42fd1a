package ledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

// compare says each thing that the text says otherwise than the results, which
// are usable.
func compare(text string, results []brokertest.Result) error {
	said, err := parse(text)
	if err != nil {
		return err
	}
	errs := []error{compareColumns(said.behaviours, behaviours(results))}
	for _, r := range results {
		errs = append(errs, compareRow(r.Name, said.rows[r.Name], rowOf(r), behaviours(results)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if said.render() != text {
		return errors.New("ledger: it was edited by hand: a row, a count or a note is not as it was written")
	}
	return nil
}

func compareColumns(said, found []string) error {
	if slices.Equal(said, found) {
		return nil
	}
	var errs []error
	for _, b := range said {
		if !slices.Contains(found, b) {
			errs = append(errs, fmt.Errorf("ledger: it has %s, and the contract has not", b))
		}
	}
	for _, b := range found {
		if !slices.Contains(said, b) {
			errs = append(errs, fmt.Errorf("ledger: it has no %s", b))
		}
	}
	if len(errs) == 0 {
		return errors.New("ledger: the order of its columns is not the contract's")
	}
	return errors.Join(errs...)
}

func compareRow(name string, said, found row, behaviours []string) error {
	var errs []error
	for _, b := range behaviours {
		if said.at(b) != found.at(b) {
			errs = append(errs, fmt.Errorf("ledger: %s: %s: it says %q, and the run found %q", name, b, said.at(b), found.at(b)))
		}
	}
	if said.product != found.product {
		errs = append(errs, fmt.Errorf("ledger: %s: it says that the broker is %q, and it was %q", name, said.product, found.product))
	}
	if said.passed != found.passed || said.not != found.not {
		errs = append(errs, fmt.Errorf("ledger: %s: it says that %d cases passed and %d are not for this broker, and it was %d and %d",
			name, said.passed, said.not, found.passed, found.not))
	}
	return errors.Join(errs...)
}

// merge puts the rows of the results, which are usable, in place of what p says
// of them. All others stay.
func (p *page) merge(results []brokertest.Result) {
	p.behaviours = behaviours(results)
	for _, r := range results {
		p.rows[r.Name] = rowOf(r)
	}
}
