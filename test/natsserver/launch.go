package natsserver

import (
	"os/exec"
	"runtime"
)

// launch starts cmd; ended is closed when it has ended. It ends with this
// process too, where the system can do that: a test binary that runs out of
// time or is killed calls no cleanup.
//
// The system counts the end of the thread that started cmd as the end of the
// parent, so one thread stays with it.
func launch(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	endWithParent(cmd)
	started, over := make(chan error), make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return over, <-started
}
