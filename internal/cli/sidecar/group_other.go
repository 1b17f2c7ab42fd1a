//go:build !unix

package sidecar

import "os/exec"

// killGroup leaves the default: the command alone is killed. There are no
// process groups here.
func killGroup(*exec.Cmd) {}
