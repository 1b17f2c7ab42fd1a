package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// defaultWait is ample for a folder of some hundred thousand messages, also
// after a kill.
const defaultWait = 10 * time.Second

// Options says how a server runs. The zero value is a server that only this
// process can reach.
type Options struct {
	// Listen is a loopback address and port for other processes, as
	// 127.0.0.1:4222; port 0 takes a free one. Empty means no listener.
	Listen string

	// Wait is how long Start waits for the server to be ready; 0 means 10 s.
	// After a kill, reading a folder again takes some seconds for each million
	// messages.
	Wait time.Duration

	// SyncAlways flushes to the disk before each acknowledgement, so that a
	// power loss costs nothing that was acknowledged.
	SyncAlways bool

	// Logger gets the server's errors while it runs; what keeps it from
	// starting is returned by Start, and all else that it says is dropped. Nil
	// drops everything.
	Logger *slog.Logger
}

func (o Options) wait() time.Duration {
	if o.Wait > 0 {
		return o.Wait
	}
	return defaultWait
}

// Check reports an option that can never work; Start returns the same.
func (o Options) Check() error { return o.apply(new(server.Options)) }

// apply writes the options into the server's own.
func (o Options) apply(to *server.Options) error {
	to.SyncAlways = o.SyncAlways
	if to.DontListen = o.Listen == ""; to.DontListen {
		return nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return errors.New("embedded: Listen must be an address and a port, as 127.0.0.1:4222")
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	// The listener asks for no password: it must not be reached from outside.
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("embedded: Listen must be a loopback address, as 127.0.0.1, not %q", host)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("embedded: Listen must have a port from 0 to 65535, not %q", port)
	}
	to.Host, to.Port = host, int(number)
	if number == 0 {
		to.Port = server.RANDOM_PORT
	}
	return nil
}
