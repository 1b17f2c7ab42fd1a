package rabbitmq

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// The defaults of a [Config].
const (
	DefaultNamespace      = "holdfast"
	DefaultHeartbeat      = 10 * time.Second
	DefaultDialTimeout    = 10 * time.Second
	DefaultCallTimeout    = 10 * time.Second
	DefaultConfirmTimeout = 30 * time.Second
)

const (
	maxHeartbeat = 5 * time.Minute
	maxTimeout   = 10 * time.Minute

	// maxNamespace leaves room in AMQP's 255 bytes for the longest suffix.
	maxNamespace = 200
	maxName      = 200
)

// RungType is the kind of queue in which a message waits for its next
// attempt. The set is closed.
type RungType uint8

const (
	// RungQuorum is a quorum queue that dead-letters at least once: what
	// cannot return yet waits and returns later. The default.
	RungQuorum RungType = iota

	// RungClassic is a classic queue. It is steadier above some 2,000 messages
	// a second on one rung, and loses a message whose source queue is
	// unavailable at the moment its wait ends.
	RungClassic
)

// Config says how to reach a broker and where copies are kept. It is copied,
// defaulted and checked whole by [Open].
type Config struct {
	// URL is amqp://user:password@host:port/vhost, or amqps. Reserved
	// characters in user, password and vhost are percent-encoded. The query
	// may carry cacertfile, certfile, keyfile and server_name_indication.
	// Required.
	URL string

	// Namespace begins the name of everything that is shared by the sources.
	// Empty means "holdfast". Under per-service permissions it begins with
	// the service's own prefix, as in "billing-service.holdfast".
	Namespace string

	// Rungs is the kind of queue that messages wait in between attempts.
	Rungs RungType

	// SharedParked parks into one queue, <namespace>.parked, rather than one
	// for each source.
	SharedParked bool

	// Heartbeat is how often each side shows that it lives: 1 s to 5 min, 0
	// means 10 s. A connection on which nothing arrives for two heartbeats and
	// 2 s is given up.
	Heartbeat time.Duration

	// DialTimeout bounds a connect with its handshakes, CallTimeout each
	// request to the broker, ConfirmTimeout the wait for a publisher confirm.
	// Each is at most 10 min; 0 means 10 s, 10 s and 30 s. A confirm that does
	// not come costs the whole publishing connection; for a message of an
	// outlet, that outlet.
	DialTimeout    time.Duration
	CallTimeout    time.Duration
	ConfirmTimeout time.Duration

	// Name is the connection's name as operators see it. Empty means
	// "holdfast" and the host's name.
	Name string

	// TLS is used for amqps URLs instead of the system's defaults and of the
	// files that the URL names. It is copied.
	TLS *tls.Config
}

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Name == "" {
		c.Name = defaultName()
	}
	orElse(&c.Heartbeat, DefaultHeartbeat)
	orElse(&c.DialTimeout, DefaultDialTimeout)
	orElse(&c.CallTimeout, DefaultCallTimeout)
	orElse(&c.ConfirmTimeout, DefaultConfirmTimeout)
	return c
}

func orElse(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		return "holdfast"
	}
	return "holdfast " + host
}

// check returns one line per fault, each with the field, its bound and the
// value; of a URL never the value.
func (c Config) check() (endpoint, error) {
	at, err := parseURL(c.URL)
	errs := []error{err, checkNamespace(c.Namespace)}
	if c.Rungs > RungClassic {
		errs = append(errs, fmt.Errorf("rabbitmq: Config.Rungs must be RungQuorum or RungClassic, not %d", c.Rungs))
	}
	if len(c.Name) > maxName {
		errs = append(errs, fmt.Errorf("rabbitmq: Config.Name must be at most %d bytes, not %d", maxName, len(c.Name)))
	}
	errs = append(errs,
		checkRange("Heartbeat", c.Heartbeat, time.Second, maxHeartbeat),
		checkRange("DialTimeout", c.DialTimeout, time.Millisecond, maxTimeout),
		checkRange("CallTimeout", c.CallTimeout, time.Millisecond, maxTimeout),
		checkRange("ConfirmTimeout", c.ConfirmTimeout, time.Millisecond, maxTimeout))
	if err := errors.Join(errs...); err != nil {
		return endpoint{}, fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return at, nil
}

func checkNamespace(ns string) error {
	switch {
	case len(ns) > maxNamespace:
		return fmt.Errorf("rabbitmq: Config.Namespace must be at most %d bytes, not %d", maxNamespace, len(ns))
	case strings.HasPrefix(ns, reservedPrefix):
		return fmt.Errorf("rabbitmq: Config.Namespace must not begin with %q, which RabbitMQ keeps for itself: %q", reservedPrefix, ns)
	}
	return nil
}

func checkRange(field string, d, low, high time.Duration) error {
	if d < low || d > high {
		return fmt.Errorf("rabbitmq: Config.%s must be %v to %v, not %v", field, low, high, d)
	}
	return nil
}
