package embedded

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// kept is how many of the server's last complaints are kept for an error.
const kept = 5

// voice is the server's log: a server that does not start says why nowhere
// else, so that the last complaints are kept. The errors of one that runs are
// passed on.
type voice struct {
	mu    sync.Mutex
	log   *slog.Logger // nil until the server runs
	last  []string
	fatal string
}

// passOn begins to pass errors on to log, which may be nil.
func (v *voice) passOn(log *slog.Logger) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log = log
}

// Noticef, Debugf and Tracef drop what is no complaint.
func (*voice) Noticef(string, ...any) {}

func (*voice) Debugf(string, ...any) {}

func (*voice) Tracef(string, ...any) {}

// Warnf keeps the line: it says why a stream was not read.
func (v *voice) Warnf(format string, args ...any) { v.keep(format, args) }

// Errorf passes the line on and keeps it.
func (v *voice) Errorf(format string, args ...any) { v.complain(format, args) }

// Fatalf does what Errorf does and ends nothing: Start returns the error.
func (v *voice) Fatalf(format string, args ...any) {
	line := v.complain(format, args)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fatal == "" {
		v.fatal = line
	}
}

func (v *voice) complain(format string, args []any) string {
	line := v.keep(format, args)
	v.mu.Lock()
	log := v.log
	v.mu.Unlock()
	if log != nil {
		log.Error("embedded broker: " + line)
	}
	return line
}

func (v *voice) keep(format string, args []any) string {
	line := strings.TrimSpace(fmt.Sprintf(format, args...))
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.last) == kept {
		v.last = v.last[1:]
	}
	v.last = append(v.last, line)
	return line
}

func (v *voice) fatalLine() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fatal
}

func (v *voice) lines() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.last, "; ")
}
