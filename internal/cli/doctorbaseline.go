package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor"
)

// baselineFlags say which findings are accepted.
type baselineFlags struct {
	file  string
	write string
}

func (f *baselineFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "baseline", "", "the findings that are accepted, each with a reason, an owner and the day on which that ends: a JSON `FILE`")
	cmd.Flags().StringVar(&f.write, "write-baseline", "", "write what was found to a new `FILE`, for reasons and owners to be filled in")
}

func (f *baselineFlags) load() (*doctor.Baseline, error) {
	if f.file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(f.file)
	if err != nil {
		return nil, &usageError{err}
	}
	b, err := doctor.ParseBaseline(content)
	if err != nil {
		return nil, &usageError{err}
	}
	return b, nil
}

// save never overwrites: a file that is there holds reasons of people.
func (f *baselineFlags) save(r *root, rep doctor.Report) error {
	if f.write == "" {
		return nil
	}
	content, err := json.MarshalIndent(doctor.NewBaseline(rep, r.Now()), "", "  ")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.write, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("--write-baseline: %s exists and stays as it is: name another file, and --baseline %s to take over what it accepts", f.write, f.write)
	}
	if err != nil {
		return &usageError{err}
	}
	_, err = file.Write(append(content, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	r.say("%s to fill in: %s", count(len(rep.Findings), "reason"), f.write)
	return nil
}
