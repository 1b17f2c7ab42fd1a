package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies behind the content: Windows would keep others from reading
// what is locked.
const lockedByte = 1 << 20

// tryLock takes the lock if it is free. It belongs to the open file and not to
// the process, so that two servers in one process exclude each other too.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
