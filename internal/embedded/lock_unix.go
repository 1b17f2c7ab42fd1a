//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock if it is free. It belongs to the open file and not to
// the process, so that two servers in one process exclude each other too.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
