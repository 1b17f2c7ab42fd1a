package awssqs

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/holdfast-mq/holdfast/broker"
)

// The defaults of a [Config].
const (
	DefaultLease        = 30 * time.Second
	DefaultWait         = 5 * time.Second
	DefaultCallTimeout  = 10 * time.Second
	DefaultAttempts     = 3
	DefaultParkedSuffix = "-parked"
	DefaultHoldSuffix   = "-hold"
)

const (
	minLease       = time.Second
	maxLease       = 10 * time.Minute
	minWait        = time.Second
	maxWait        = 20 * time.Second
	maxCallTimeout = 10 * time.Minute
	maxAttempts    = 10
)

// Config says how to reach SQS and how copies are kept. It is copied,
// defaulted and checked whole by [Open].
type Config struct {
	// AWS is where everything comes from that the fields below leave empty, as
	// config.LoadDefaultConfig returns it. nil means that Open loads it itself,
	// from the environment, the shared files or the role of the machine.
	AWS *aws.Config

	// Region is the region, as eu-west-1.
	Region string

	// Endpoint is the URL of the service, for VPC endpoints and emulators.
	// Empty means the region's own.
	Endpoint string

	// Credentials signs the requests.
	Credentials aws.CredentialsProvider

	// Namespace and a "-" begin the names of the driver's queues. Empty means
	// that they begin with the name of their source.
	Namespace string

	// ParkedSuffix and HoldSuffix end the names of the driver's queues, before
	// ".fifo". Empty means "-parked" and "-hold".
	ParkedSuffix string
	HoldSuffix   string

	// Lease is the visibility timeout that deliveries are received with, in
	// whole seconds from 1 s to 10 min. It is extended for as long as a
	// delivery is open, and so is how long the messages of a process that died
	// stay hidden. 0 means 30 s.
	Lease time.Duration

	// Wait is how long one receive waits for messages, in whole seconds from 1
	// to 20. A pause takes as long at most; each end of it is one request. 0
	// means 5 s.
	Wait time.Duration

	// CallTimeout bounds each other request, its repetitions included, and is
	// added to Wait for receives. It is at most 10 min; 0 means 10 s.
	CallTimeout time.Duration

	// Attempts is how often the client sends one request, 1 to 10, when SQS
	// throttles it or the connection fails. 0 means 3. A copy that is sent
	// again for an answer that was lost may be stored twice on a standard
	// queue.
	Attempts int

	// GroupBatch is how many messages one receive takes from a FIFO queue, 1
	// to 10. 0 means 1. With more, messages of one group may be in hand behind
	// one that fails: they go back, and SQS counts a delivery for each.
	GroupBatch int

	// KeepEnvelopes shows handlers the envelope of SNS as it is. Otherwise they
	// see the message and the attributes in it.
	KeepEnvelopes bool
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Lease, DefaultLease)
	def(&c.Wait, DefaultWait)
	def(&c.CallTimeout, DefaultCallTimeout)
	if c.Attempts == 0 {
		c.Attempts = DefaultAttempts
	}
	if c.GroupBatch == 0 {
		c.GroupBatch = 1
	}
	if c.ParkedSuffix == "" {
		c.ParkedSuffix = DefaultParkedSuffix
	}
	if c.HoldSuffix == "" {
		c.HoldSuffix = DefaultHoldSuffix
	}
	return c
}

// check returns one line per fault, each with the field, its bound and the
// value.
func (c Config) check() error {
	errs := []error{
		c.checkEndpoint(),
		checkPart("Namespace", c.Namespace), checkPart("ParkedSuffix", c.ParkedSuffix), checkPart("HoldSuffix", c.HoldSuffix),
		checkSeconds("Lease", c.Lease, minLease, maxLease), checkSeconds("Wait", c.Wait, minWait, maxWait),
		checkCount("Attempts", c.Attempts, maxAttempts), checkCount("GroupBatch", c.GroupBatch, maxBatch),
	}
	if c.ParkedSuffix == c.HoldSuffix {
		errs = append(errs, fmt.Errorf("awssqs: Config.ParkedSuffix and Config.HoldSuffix must differ, not both be %q", c.HoldSuffix))
	}
	if c.CallTimeout < 0 || c.CallTimeout > maxCallTimeout {
		errs = append(errs, fmt.Errorf("awssqs: Config.CallTimeout must be more than 0 and at most %v, not %v", maxCallTimeout, c.CallTimeout))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return nil
}

func (c Config) checkEndpoint() error {
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return errors.New("awssqs: Config.Endpoint cannot be read (it is not shown, since it may hold a password)")
	case u.User != nil:
		return errors.New("awssqs: Config.Endpoint must not have a user or password; give Config.Credentials")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("awssqs: Config.Endpoint must be https://HOST or http://HOST")
	}
	return nil
}

func checkPart(field, part string) error {
	if len(part) > maxName || !validName(part) {
		return fmt.Errorf("awssqs: Config.%s must have at most %d letters, digits, \"-\" and \"_\", not %.100q", field, maxName, part)
	}
	return nil
}

func checkSeconds(field string, d, low, high time.Duration) error {
	if d < low || d > high || d%time.Second != 0 {
		return fmt.Errorf("awssqs: Config.%s must be whole seconds from %v to %v, not %v", field, low, high, d)
	}
	return nil
}

func checkCount(field string, n, high int) error {
	if n < 1 || n > high {
		return fmt.Errorf("awssqs: Config.%s must be 1 to %d, not %d", field, high, n)
	}
	return nil
}
