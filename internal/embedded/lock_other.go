//go:build !darwin && !dragonfly && !freebsd && !illumos && !linux && !netbsd && !openbsd && !windows

package embedded

import (
	"errors"
	"os"
)

// tryLock refuses: a lock that a dead process leaves behind would need a
// person, and no lock at all would lose messages.
func tryLock(*os.File) (bool, error) {
	return false, errors.ErrUnsupported
}
