//go:build unix

package sidecar

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// killGroup makes cmd the head of a process group of its own, which is killed
// whole: the shell's children would otherwise work on after the message went
// back to the broker.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
