package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const lockName = "holdfast.lock"

// lock is the right to a folder. The operating system takes it back when the
// process ends in any way, so that a lock is never stale; the file itself
// stays. What is written in it is for people and counts for nothing.
type lock struct{ file *os.File }

// holder is the content of the file.
type holder struct {
	PID int    `json:"pid"`
	URL string `json:"url,omitempty"`
}

// acquire takes the lock of dir, or returns an [InUseError].
func acquire(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: the folder cannot be written: %w", err)
	}
	l := &lock{f}
	free, err := tryLock(f)
	switch {
	case err != nil:
		err = fmt.Errorf("embedded: %s cannot be locked: %w", f.Name(), err)
	case !free:
		h := l.read()
		err = &InUseError{Dir: dir, PID: h.PID, URL: h.URL}
	default:
		err = l.describe("")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// describe writes who has the lock, in one write, since others may be reading.
func (l *lock) describe(url string) error {
	content, err := json.Marshal(holder{PID: os.Getpid(), URL: url})
	if err == nil {
		_, err = l.file.WriteAt(content, 0)
	}
	if err == nil {
		err = l.file.Truncate(int64(len(content)))
	}
	if err != nil {
		return fmt.Errorf("embedded: the folder cannot be written: %w", err)
	}
	return nil
}

// read returns what the one who has the lock wrote, as far as it is there.
func (l *lock) read() (h holder) {
	content, err := os.ReadFile(l.file.Name())
	if err != nil || json.Unmarshal(content, &h) != nil {
		return holder{}
	}
	return h
}

// release lets go by closing the file. The file is not removed: another
// process may have opened it and would then lock a file that nobody finds.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}
