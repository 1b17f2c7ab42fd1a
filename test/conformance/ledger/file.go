package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mq/holdfast/broker/brokertest"
)

const (
	file       = "docs/conformance.md"
	moduleLine = "module github.com/holdfast-mq/holdfast\n"
)

// Check compares what each configuration was found to do with what
// docs/conformance.md says of it, and returns every cell and every count that
// differs. A case that failed, a result that is not whole and a configuration
// without a row are errors too; the rows of others are not looked at.
func Check(results []brokertest.Result) error {
	path, err := find()
	if err != nil {
		return err
	}
	return check(path, results)
}

func check(path string, results []brokertest.Result) error {
	good, fault := usable(results)
	if len(good) == 0 {
		return fault
	}
	text, err := read(path)
	if err != nil {
		return err
	}
	if err := compare(text, good); err != nil {
		return errors.Join(fault, fmt.Errorf("%w\nledger: when this is meant: go test -update, in the folder of these tests", err))
	}
	return fault
}

// Update writes the rows of these configurations into docs/conformance.md and
// leaves all others as they are. A configuration of which a case has failed or
// was left out keeps its row and is an error.
func Update(results []brokertest.Result) error {
	path, err := find()
	if err != nil {
		return err
	}
	return update(path, results)
}

func update(path string, results []brokertest.Result) error {
	good, fault := usable(results)
	if len(good) == 0 {
		return errors.Join(fault, errors.New("ledger: there is nothing to write"))
	}
	text, err := read(path)
	if err != nil {
		return err
	}
	p, err := parse(text)
	if err != nil {
		return err
	}
	p.merge(good)
	return errors.Join(fault, os.WriteFile(path, []byte(p.render()), 0o644))
}

// find looks for the file in the tree that the tests run in, which may be those
// of a module below it.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	for {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(mod), moduleLine) {
			return filepath.Join(dir, filepath.FromSlash(file)), nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("ledger: these tests do not run inside of the project's tree")
		}
		dir = above
	}
}

func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("ledger: %w", err)
	}
	return string(text), nil
}
