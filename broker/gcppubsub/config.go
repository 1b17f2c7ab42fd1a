package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/option"

	"github.com/holdfast-mq/holdfast/broker"
)

// Mode is how messages are received. The set is closed.
type Mode string

// The modes.
const (
	// ModePull asks for messages, one request at a time. What is in hand never
	// exceeds the prefetch.
	ModePull Mode = "pull"

	// ModeStreaming lets the broker send them as they come. One message more
	// than the prefetch may be in hand. A prefetch of 1 is pulled all the same.
	ModeStreaming Mode = "streaming"
)

// The defaults of a [Config].
const (
	DefaultCallTimeout = 10 * time.Second
	DefaultMaxLease    = time.Hour
	DefaultRetention   = 7 * 24 * time.Hour
)

const (
	maxTimeout   = 10 * time.Minute
	maxRetention = 31 * 24 * time.Hour
	minRetention = 10 * time.Minute
	minLease     = time.Second
	maxNamespace = 100
)

// Config says how to reach Pub/Sub and where copies are kept. It is copied,
// defaulted and checked whole by [Open].
type Config struct {
	// Project is the id of the project of the driver's own topics and
	// subscriptions, and of sources that are named by their id alone. Required.
	Project string

	// Endpoint is the host and port of the service, where it is not the global
	// one. Ordering keys are kept only within one region, so that a source
	// with ordering deserves its regional endpoint here.
	Endpoint string

	// Emulator is the host and port of an emulator, which is spoken to without
	// TLS and without credentials. It excludes Endpoint.
	Emulator string

	// Options are added to those of the connection: credentials, a user agent.
	// A connection of the caller's own (option.WithGRPCConn) is not taken over
	// well: a session ends with its connection, and a new one is dialled.
	Options []option.ClientOption

	// Mode is how messages are received. Empty means ModePull.
	Mode Mode

	// Namespace begins the ids of the driver's topics and subscriptions, with
	// a "-" after it. Empty means that they begin with the source's id. It
	// begins with a letter and has letters, digits, "-", "_" and ".".
	Namespace string

	// Name is shown to the service as the user agent. Empty means "holdfast".
	Name string

	// CallTimeout bounds each call, 1 ms to 10 min. 0 means 10 s.
	CallTimeout time.Duration

	// MaxLease is for how long a delivery is kept from redelivery while its
	// handler runs, 1 s to any. After that Pub/Sub redelivers it, and its
	// settlement answers [broker.ErrClosed]. 0 means 1 h.
	MaxLease time.Duration

	// Retention is how long the driver's own subscriptions keep a message when
	// the driver makes them, 10 min to 31 days. 0 means 7 days. What is parked
	// for longer is lost: Pub/Sub keeps nothing for ever.
	Retention time.Duration

	// Backlog counts the messages that wait in a subscription, and its
	// consumers, as Cloud Monitoring does. Pub/Sub itself has no such call: nil
	// means that [Broker.Depth] of a source is not supported, and that parked
	// messages are counted by taking them in hand and giving them back. It may
	// be called concurrently, with the full name of the subscription.
	Backlog func(ctx context.Context, subscription string) (broker.Depth, error)
}

func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = ModePull
	}
	if c.Name == "" {
		c.Name = "holdfast"
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.MaxLease == 0 {
		c.MaxLease = DefaultMaxLease
	}
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	c.Options = slices.Clone(c.Options)
	return c
}

// check returns one line per fault, each with the field, its bound and the
// value.
func (c Config) check() error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("gcppubsub: Config."+format, args...))
	}
	if c.Project == "" || strings.ContainsAny(c.Project, "/ ") {
		refuse("Project is required and is a project's id, not %.100q", c.Project)
	}
	if c.Endpoint != "" && c.Emulator != "" {
		refuse("Endpoint and Config.Emulator exclude each other")
	}
	if c.Mode != ModePull && c.Mode != ModeStreaming {
		refuse("Mode must be %q or %q, not %.40q", ModePull, ModeStreaming, string(c.Mode))
	}
	if c.Namespace != "" && (!validID(c.Namespace) || len(c.Namespace) > maxNamespace) {
		refuse("Namespace begins with a letter and has at most %d letters, digits, -, _ and ., not %.200q", maxNamespace, c.Namespace)
	}
	c.checkTimes(refuse)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return nil
}

func (c Config) checkTimes(refuse func(format string, args ...any)) {
	if c.CallTimeout < time.Millisecond || c.CallTimeout > maxTimeout {
		refuse("CallTimeout must be 1ms to %v, not %v", maxTimeout, c.CallTimeout)
	}
	if c.MaxLease < minLease {
		refuse("MaxLease must be %v or more, not %v", minLease, c.MaxLease)
	}
	if c.Retention < minRetention || c.Retention > maxRetention {
		refuse("Retention must be %v to %v, not %v", minRetention, maxRetention, c.Retention)
	}
}
