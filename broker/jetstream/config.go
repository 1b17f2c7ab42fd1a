package jetstream

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// The defaults of a [Config].
const (
	DefaultNamespace   = "holdfast"
	DefaultDialTimeout = 10 * time.Second
	DefaultCallTimeout = 10 * time.Second
)

const (
	maxTimeout   = 10 * time.Minute
	maxNamespace = 100
	maxReplicas  = 5

	// maxName is what a NATS server takes as the name of a stream or consumer.
	maxName = 255
)

var schemes = []string{"nats", "tls", "ws", "wss"}

// Config says how to reach a server and where copies are kept. It is copied,
// defaulted and checked whole by [Open].
type Config struct {
	// URL is nats://user:password@host:port, or tls, ws or wss; several
	// servers of one cluster are separated by commas. Required unless
	// InProcess is set.
	URL string

	// InProcess is dialled in place of URL: a server in this process.
	InProcess nats.InProcessConnProvider

	// Namespace begins the names of the driver's streams and subjects. Empty
	// means "holdfast". It has letters, digits, "-", "_" and "."; in the names
	// of streams a "." becomes a "_".
	Namespace string

	// Replicas is how many copies of its own streams the driver asks for, 1 to
	// 5, when it makes them. 0 means 1. A source with three replicas deserves
	// three here.
	Replicas int

	// DialTimeout bounds a connect, CallTimeout each request to the server
	// and the wait for a PubAck. Each is at most 10 min; 0 means 10 s.
	DialTimeout time.Duration
	CallTimeout time.Duration

	// Name is the connection's name as operators see it. Empty means
	// "holdfast" and the host's name.
	Name string

	// Options are added to those of the connection: credentials files, TLS.
	// Options for reconnecting have no effect, since a session ends with its
	// connection.
	Options []nats.Option
}

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.Name == "" {
		c.Name = defaultName()
	}
	c.Options = slices.Clone(c.Options)
	return c
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
func (c Config) check() error {
	errs := []error{c.checkURL(), checkNamespace(c.Namespace)}
	if c.Replicas < 1 || c.Replicas > maxReplicas {
		errs = append(errs, fmt.Errorf("jetstream: Config.Replicas must be 1 to %d, not %d", maxReplicas, c.Replicas))
	}
	errs = append(errs, checkTimeout("DialTimeout", c.DialTimeout), checkTimeout("CallTimeout", c.CallTimeout))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return nil
}

func (c Config) checkURL() error {
	if c.InProcess != nil {
		return nil
	}
	if strings.TrimSpace(c.URL) == "" {
		return errors.New("jetstream: Config.URL is required, as nats://user:password@host:4222")
	}
	for part := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		switch {
		case err != nil:
			return errors.New("jetstream: Config.URL cannot be read (it is not shown, since it may hold a password)")
		case !slices.Contains(schemes, u.Scheme):
			return fmt.Errorf("jetstream: Config.URL must begin with one of %s://", strings.Join(schemes, "://, "))
		case u.Hostname() == "":
			return errors.New("jetstream: Config.URL names no host")
		}
	}
	return nil
}

func checkNamespace(ns string) error {
	bad := strings.IndexFunc(ns, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r)
	})
	switch {
	case len(ns) > maxNamespace:
		return fmt.Errorf("jetstream: Config.Namespace must be at most %d bytes, not %d", maxNamespace, len(ns))
	case bad >= 0, strings.HasPrefix(ns, "."), strings.HasSuffix(ns, "."), strings.Contains(ns, ".."):
		return fmt.Errorf("jetstream: Config.Namespace has letters, digits, -, _ and single dots between them, not %q", ns)
	}
	return nil
}

func checkTimeout(field string, d time.Duration) error {
	if d < time.Millisecond || d > maxTimeout {
		return fmt.Errorf("jetstream: Config.%s must be 1ms to %v, not %v", field, maxTimeout, d)
	}
	return nil
}
