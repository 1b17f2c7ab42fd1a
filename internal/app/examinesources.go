package app

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/store"
)

// ServiceConfig is what a service is configured to do, beside the [Config] of
// its broker.
type ServiceConfig struct {
	// Queues are those that it consumes, Rungs its ladder.
	Queues []string
	Rungs  []time.Duration

	// Stored reads the password from a second place where it is kept, as it is
	// or as the AMQP URL that has it. nil is no second place.
	Stored func() (string, error)
}

// lookService logs in as the service does. A login that is refused is a fact
// and no error.
func (c GatherConfig) lookService() look {
	at, _ := parseAMQP(c.Broker.URL)
	return look{source: doctor.SourceService, name: "the login of user " + at.user, beside: true, take: func(ctx context.Context) (func(*doctor.Facts), error) {
		s := &doctor.ServiceFacts{
			User: at.user, VHost: at.vhost, Queues: c.Service.Queues, Rungs: c.Service.Rungs,
			Namespace: c.Broker.Namespace, SharedParked: c.Broker.SharedParked,
		}
		var blind []string
		if c.Service.Stored != nil {
			stored, err := c.Service.Stored()
			if err != nil {
				blind = append(blind, "the second place of the password: "+err.Error())
			}
			s.Stored = err == nil
			s.StoredDiffers = s.Stored && !samePassword(at.password, stored)
		}
		s.Login = c.login(ctx)
		if errors.Is(s.Login, broker.ErrConfig) {
			return nil, s.Login
		}
		return func(f *doctor.Facts) {
			f.Service = s
			f.Blind = append(f.Blind, blind...)
		}, nil
	}}
}

func (c GatherConfig) login(ctx context.Context) error {
	b, err := c.Open(ctx, c.Broker)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	door, ok := b.(interface{ Login(context.Context) error })
	if !ok {
		return errors.New("this driver cannot try a login")
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	return hung(ctx, door.Login(ctx))
}

// samePassword compares the two in a time that does not tell how much of them
// agrees. Nothing of either is kept.
func samePassword(password, stored string) bool {
	stored = strings.TrimRight(stored, "\r\n") // of a file
	if at, isURL := parseAMQP(stored); isURL {
		stored = at.password
	}
	a, b := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(stored))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func cutStrays(queue string) (ns string, ok bool) { return strings.CutSuffix(queue, ".unrouted") }

// lookStore asks an outbox, an inbox and what is set aside.
func (c GatherConfig) lookStore() look {
	name := c.Store.place()
	return look{source: doctor.SourceStore, name: "the database " + name, take: func(ctx context.Context) (func(*doctor.Facts), error) {
		ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
		defer cancel()
		if err := c.Store.there(); err != nil {
			return nil, err
		}
		s, err := c.OpenStore(ctx, c.Store)
		if err != nil {
			return nil, hung(ctx, err)
		}
		defer s.Close()
		facts, err := doctor.LookAtStore(ctx, s, name)
		if err != nil {
			return nil, hung(ctx, err)
		}
		return func(f *doctor.Facts) { f.Store = facts }, nil
	}}
}

// there keeps a look from making the folder of an embedded broker.
func (c Config) there() error {
	if scheme, _ := schemeOf(c.URL); scheme != "embedded" {
		return nil
	}
	dir, _, err := parseEmbedded(c.URL)
	if err != nil {
		return nil // for the broker to refuse
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w: %w", broker.ErrUnreachable, err)
	}
	return nil
}

// there keeps a look from making a SQLite file that is not there.
func (c StoreConfig) there() error {
	scheme, rest, _ := strings.Cut(c.URL, ":")
	if !strings.EqualFold(scheme, "sqlite") {
		return nil
	}
	file, err := url.PathUnescape(strings.TrimPrefix(rest, "//"))
	if err != nil {
		return nil // for the store to refuse
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnreachable, err)
	}
	return nil
}

// place names the database for people, without who logs in.
func (c StoreConfig) place() string {
	scheme, rest, _ := strings.Cut(c.URL, ":")
	if strings.EqualFold(scheme, "sqlite") {
		return strings.TrimPrefix(rest, "//")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return "of --store"
	}
	return u.Host + u.Path
}

// lookPrometheus asks a Prometheus what it has loaded and what it scrapes.
func (c GatherConfig) lookPrometheus() look {
	return look{source: doctor.SourcePrometheus, name: "the Prometheus at " + place(c.Prometheus), take: func(ctx context.Context) (func(*doctor.Facts), error) {
		ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
		defer cancel()
		facts, err := doctor.LookAtPrometheus(ctx, c.Prometheus)
		if err != nil {
			return nil, hung(ctx, err)
		}
		return func(f *doctor.Facts) { f.Prometheus = facts }, nil
	}}
}
