package embedded

import (
	"errors"
	"fmt"
	"os"
)

// ErrInUse means that another server has the folder; the error is an
// [InUseError].
var ErrInUse = errors.New("embedded: the folder is in use")

// InUseError says who has a folder.
type InUseError struct {
	Dir string

	// PID is the process that has it; 0 where it has not said so yet.
	PID int

	// URL is where that process listens; empty where it does not.
	URL string
}

// Is reports whether target is [ErrInUse].
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Error names the process and what to do.
func (e *InUseError) Error() string {
	who := "another process"
	switch {
	case e.PID == os.Getpid():
		who = "this process"
	case e.PID != 0:
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.URL != "" {
		return fmt.Sprintf("embedded: %s is in use by %s, which listens: use %s instead", e.Dir, who, e.URL)
	}
	return fmt.Sprintf("embedded: %s is in use by %s, which does not listen: end it, or start it with a listener and use its URL", e.Dir, who)
}
