package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// record runs the demo on a terminal and paints it as often as asked.
func record(program string, columns, rows int, every time.Duration, b *brush) ([]frame, error) {
	term := vt.NewSafeEmulator(columns, rows)
	fmt.Fprint(term, "$ holdfast demo\r\n")
	cmd := exec.Command(program, "demo")
	cmd.Args[0] = "holdfast" // the program tells commands as it was called
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(term, file)
		if errors.Is(err, syscall.EIO) {
			err = nil // how the end of a terminal's program reads on Linux
		}
		ended <- errors.Join(err, cmd.Wait())
	}()
	return watch(term, every, b, ended)
}

func watch(term *vt.SafeEmulator, every time.Duration, b *brush, ended <-chan error) ([]frame, error) {
	var frames []frame
	began := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		frames = append(frames, frame{b.paint(term), time.Since(began)})
		select {
		case <-tick.C:
		case err := <-ended:
			return append(frames, frame{b.paint(term), time.Since(began)}), err
		}
	}
}
