package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// The defaults of a [Config].
const (
	DefaultNamespace   = "holdfast"
	DefaultDialTimeout = 5 * time.Second
	DefaultCallTimeout = 10 * time.Second
	DefaultLease       = time.Minute
)

const (
	maxTimeout   = 10 * time.Minute
	maxNamespace = 40
	minLease     = 3 * time.Second
	maxLease     = 12 * time.Hour
)

// Config says how to reach a cluster and where copies are kept. It is copied,
// defaulted and checked whole by [Open].
type Config struct {
	// URL is rocketmq://key:secret@host:9876, with the addresses of the name
	// servers separated by commas. The access key and its secret are left out
	// where the brokers ask for none. Required.
	URL string

	// Namespace begins the names of the driver's topics. Empty means
	// "holdfast". It has letters, digits, "-", "_" and ".", and at most 40
	// bytes; in the names of topics a "." becomes a "_".
	Namespace string

	// Lease is for how long the broker hides a delivery that nobody speaks of
	// any more: so long do the messages of a process that was killed stay
	// away. The driver renews it while a delivery is open. 3 s to 12 h; 0
	// means 1 min.
	Lease time.Duration

	// DialTimeout bounds a connect, CallTimeout each request. Each is at most
	// 10 min; 0 means 5 s and 10 s.
	DialTimeout time.Duration
	CallTimeout time.Duration

	// Name is the client's name as operators see it. Empty means "holdfast"
	// and the host's name.
	Name string

	// Dial connects to name servers and brokers in place of a plain TCP
	// connection: TLS, or a proxy. It may be nil, and is called from several
	// goroutines at once.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	nameServers []string
	key, secret string
}

// String tells where the cluster is, and no secret.
func (c Config) String() string {
	read := c.withDefaults()
	if read.readURL() != nil {
		return "rocketmq"
	}
	return "rocketmq://" + strings.Join(read.nameServers, ",")
}

// GoString is String, so that %#v does not show the secret either.
func (c Config) GoString() string { return c.String() }

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Lease == 0 {
		c.Lease = DefaultLease
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
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		return "holdfast"
	}
	return "holdfast " + host
}

// check reads the URL and returns one line per fault, each with the field, its
// bound and the value; of a URL never the value.
func (c *Config) check() error {
	err := errors.Join(
		c.readURL(), checkNamespace(c.Namespace),
		checkTime("Lease", c.Lease, minLease, maxLease),
		checkTime("DialTimeout", c.DialTimeout, time.Millisecond, maxTimeout),
		checkTime("CallTimeout", c.CallTimeout, time.Millisecond, maxTimeout),
	)
	if err != nil {
		return fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return nil
}

func (c *Config) readURL() error {
	rest, ok := strings.CutPrefix(strings.TrimSpace(c.URL), "rocketmq://")
	if !ok {
		return errors.New("rocketmq: Config.URL is required, as rocketmq://key:secret@host:9876")
	}
	unreadable := errors.New("rocketmq: Config.URL cannot be read (it is not shown, since it may hold a secret)")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		key, secret, both := strings.Cut(rest[:at], ":")
		var errKey, errSecret error
		c.key, errKey = url.PathUnescape(key)
		c.secret, errSecret = url.PathUnescape(secret)
		if !both || c.key == "" || c.secret == "" || errKey != nil || errSecret != nil {
			return unreadable
		}
		rest = rest[at+1:]
	}
	c.nameServers = nil
	for address := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		host, port, err := net.SplitHostPort(strings.TrimSpace(address))
		if err != nil || host == "" || port == "" {
			return errors.New("rocketmq: Config.URL must name each name server as host:port")
		}
		c.nameServers = append(c.nameServers, net.JoinHostPort(host, port))
	}
	return nil
}

func checkNamespace(ns string) error {
	switch {
	case len(ns) > maxNamespace:
		return fmt.Errorf("rocketmq: Config.Namespace must be at most %d bytes, not %d", maxNamespace, len(ns))
	case !validName(strings.ReplaceAll(ns, ".", "_")):
		return fmt.Errorf("rocketmq: Config.Namespace has letters, digits, -, _ and ., not %q", ns)
	}
	return nil
}

func checkTime(field string, d, low, high time.Duration) error {
	if d < low || d > high {
		return fmt.Errorf("rocketmq: Config.%s must be %v to %v, not %v", field, low, high, d)
	}
	return nil
}
