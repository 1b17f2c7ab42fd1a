package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/topology"
)

// DefaultObserve is the time between two looks at a broker, from which
// standing still and growth are told: longer than RabbitMQ takes from one
// sample of its rates to the next (5 s).
const DefaultObserve = 10 * time.Second

// gatherTimeout bounds the look at one source, without the time between two.
const gatherTimeout = 45 * time.Second

// GatherConfig says what to look at. Every source is optional, one is needed.
type GatherConfig struct {
	// Broker has no URL where no broker is asked.
	Broker Config

	// Management is the URL of RabbitMQ's management API with its credentials;
	// see [ManagementURL]. Empty is none. VHost limits the look to one virtual
	// host; empty is all that the user may see.
	Management string
	VHost      string

	Store      StoreConfig
	Prometheus string   // URL
	Manifests  []string // files
	Service    ServiceConfig

	// Observe is the time between two looks at a RabbitMQ, 0 for one look. With
	// Before, which is an earlier look, there is one look, too.
	Observe time.Duration
	Before  *management.Snapshot

	// Heads also looks at the oldest message of parked queues whose age the
	// broker does not tell, where a look costs nothing.
	Heads bool

	Limits doctor.Limits

	// Open and OpenStore are [Open] and [OpenStore] when nil.
	Open      func(context.Context, Config) (Broker, error)
	OpenStore func(context.Context, StoreConfig) (Store, error)
}

func (c GatherConfig) withDefaults() GatherConfig {
	if c.Broker.Namespace == "" {
		c.Broker.Namespace = DefaultNamespace
	}
	if c.Broker.Name == "" {
		c.Broker.Name = "holdfast doctor"
	}
	if c.Open == nil {
		c.Open = Open
	}
	if c.OpenStore == nil {
		c.OpenStore = OpenStore
	}
	return c
}

// look is the look at one source.
type look struct {
	source doctor.Source
	name   string // for people

	// beside is one that proves nothing of the system by itself.
	beside bool

	// take looks, and returns what it has to say of facts.
	take func(context.Context) (fill func(*doctor.Facts), err error)
}

// Gather looks at all sources beside each other. One that does not answer is
// named in [doctor.Facts.Blind] and Missed, and the others count. An error is
// that no source answered, with the class of each, or of class
// [broker.ErrConfig] where what is asked can never work.
func Gather(ctx context.Context, cfg GatherConfig) (*doctor.Facts, error) {
	cfg = cfg.withDefaults()
	manifests, err := readManifests(cfg.Manifests)
	if err != nil {
		return nil, err
	}
	looks := cfg.looks()
	if len(looks)+len(manifests) == 0 {
		return nil, fmt.Errorf("%w: there is nothing to look at: name a broker, a management API, a database, a Prometheus or manifests", broker.ErrConfig)
	}
	f := &doctor.Facts{Names: doctor.Names{Namespaces: []string{cfg.Broker.Namespace}}, Manifests: manifests, Limits: cfg.Limits}
	if err := lookBeside(ctx, looks, f); err != nil {
		return nil, err
	}
	if f.RabbitMQ != nil {
		f.Names.Namespaces = namespaces(f.RabbitMQ, cfg.Broker.Namespace)
		cfg.lookHeads(ctx, f)
	}
	f.Now = time.Now()
	return f, nil
}

// looks are those that cfg asks for.
func (c GatherConfig) looks() []look {
	var all []look
	if c.Management != "" {
		all = append(all, c.lookRabbitMQ())
	}
	if c.Broker.URL != "" {
		if _, isRabbit := parseAMQP(c.Broker.URL); isRabbit {
			all = append(all, c.lookService())
		} else {
			all = append(all, c.lookBroker())
		}
	}
	if c.Store.URL != "" {
		all = append(all, c.lookStore())
	}
	if c.Prometheus != "" {
		all = append(all, c.lookPrometheus())
	}
	return all
}

// lookBeside takes all looks at once and fills in f in their order.
func lookBeside(ctx context.Context, looks []look, f *doctor.Facts) error {
	fills, errs := make([]func(*doctor.Facts), len(looks)), make([]error, len(looks))
	var all sync.WaitGroup
	for i, l := range looks {
		all.Go(func() { fills[i], errs[i] = l.take(ctx) })
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var failed []error
	answered := false
	for i, l := range looks {
		if errs[i] == nil {
			fills[i](f)
			answered = answered || !l.beside
			continue
		}
		if errors.Is(errs[i], broker.ErrConfig) {
			return errs[i]
		}
		err := &MissedError{l, errs[i]}
		failed = append(failed, err)
		f.Blind = append(f.Blind, err.Error())
		f.Missed = append(f.Missed, l.source)
	}
	if !answered && len(failed) > 0 {
		return errors.Join(failed...)
	}
	return nil
}

// MissedError is a source that gave nothing. Its text, of one line, says what
// to do about it.
type MissedError struct {
	look look
	err  error
}

// Error implements error.
func (e *MissedError) Error() string {
	text := fmt.Sprintf("%s: %v", e.look.name, e.err)
	if todo := e.advice(); todo != "" {
		text += "; " + todo
	}
	return text
}

// Unwrap returns what the source's client says.
func (e *MissedError) Unwrap() error { return e.err }

// advice is what the error of a client cannot know: what a look needs.
func (e *MissedError) advice() string {
	refused := errors.Is(e.err, broker.ErrCredentials) || errors.Is(e.err, broker.ErrPermission)
	switch source := e.look.source; {
	case source == doctor.SourceRabbitMQ && refused:
		return "give --management a user who may look"
	case source == doctor.SourceRabbitMQ:
		return "check the address in --management, and that the plugin is enabled (rabbitmq-plugins enable rabbitmq_management)"
	case source == doctor.SourceStore:
		return "check --store, and that the database is up"
	case source == doctor.SourcePrometheus:
		return "check --prometheus, and that it is up"
	case refused:
		return "check the credentials in --broker"
	default:
		return "check --broker, and that it is up"
	}
}

// lookRabbitMQ looks twice where a second look can tell something: without
// numbers of messages it cannot.
func (c GatherConfig) lookRabbitMQ() look {
	return look{source: doctor.SourceRabbitMQ, name: "RabbitMQ", take: func(ctx context.Context) (func(*doctor.Facts), error) {
		client, err := management.New(management.Config{URL: c.Management, VHost: c.VHost})
		if err != nil {
			return nil, err
		}
		last, err := snapshot(ctx, client)
		if err != nil {
			return nil, err
		}
		before := c.Before
		if before == nil && c.Observe > 0 && !last.Overview.StatsOff && wait(ctx, c.Observe) {
			first := last
			if last, err = snapshot(ctx, client); err != nil {
				return nil, err // a broker that just went away is nothing to judge by its past
			}
			before = first
		}
		return func(f *doctor.Facts) { f.RabbitMQ, f.Before = last, before }, nil
	}}
}

func snapshot(ctx context.Context, client *management.Client) (*management.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	s, err := client.Snapshot(ctx)
	return s, hung(ctx, err)
}

// hung gives a look that took too long its class.
func hung(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, broker.ErrUnreachable) {
		return fmt.Errorf("%w: no answer within %v", broker.ErrUnreachable, gatherTimeout)
	}
	return err
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// lookHeads needs what the two looks at a RabbitMQ have found out: its queues,
// and that it lets us in.
func (c GatherConfig) lookHeads(ctx context.Context, f *doctor.Facts) {
	if !c.Heads || f.Service == nil || f.Service.Login != nil {
		return
	}
	b, err := c.Open(ctx, c.Broker)
	if err != nil {
		return // the login has just said the same
	}
	defer func() { _ = b.Close() }()
	h := heads{sifter: b, vhost: f.Service.VHost}
	h.look(ctx, f)
	f.Heads = map[doctor.Head]time.Time{}
	for queue, head := range h.seen {
		if !head.at.IsZero() {
			f.Heads[doctor.Head{VHost: h.vhost, Queue: queue}] = head.at
		}
	}
}

// lookBroker asks a broker that is not RabbitMQ through its driver.
func (c GatherConfig) lookBroker() look {
	return look{source: doctor.SourceBroker, name: "the broker", take: func(ctx context.Context) (func(*doctor.Facts), error) {
		if err := c.Broker.there(); err != nil {
			return nil, err
		}
		b, err := c.Open(ctx, c.Broker)
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.Close() }()
		s, ok := b.(broker.Surveyor)
		if !ok {
			return nil, fmt.Errorf("%w: this driver cannot ask its broker how it is", broker.ErrUnsupported)
		}
		ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
		defer cancel()
		survey, err := s.Survey(ctx, c.Service.Queues)
		if err != nil {
			return nil, hung(ctx, err)
		}
		return func(f *doctor.Facts) {
			f.Broker = &doctor.BrokerFacts{Product: survey.Product, Survey: survey}
			if len(c.Service.Queues) == 0 {
				f.Blind = append(f.Blind, "the sources of "+survey.Product+": name them with --queue")
			}
		}, nil
	}}
}

// namespaces are the one that was given and those of other services, which are
// known by what each of them has: the exchanges ns and ns.return.
func namespaces(s *management.Snapshot, given string) []string {
	type exchange struct{ vhost, name string }
	there := map[exchange]bool{}
	for i := range s.Exchanges {
		there[exchange{s.Exchanges[i].VHost, s.Exchanges[i].Name}] = true
	}
	found := map[string]bool{}
	for i := range s.Queues {
		q := &s.Queues[i]
		ns, isStrays := cutStrays(q.Name)
		if isStrays && there[exchange{q.VHost, ns}] && there[exchange{q.VHost, ns + ".return"}] {
			found[ns] = true
		}
	}
	delete(found, given)
	all := []string{given}
	for ns := range found {
		all = append(all, ns)
	}
	slices.Sort(all[1:])
	return all
}

// place is an address without who logs in there.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

func readManifests(files []string) ([]topology.Manifest, error) {
	var all []topology.Manifest
	var errs []error
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: --manifest: %w", broker.ErrConfig, err))
			continue
		}
		m, err := topology.Parse(content)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s: %w", broker.ErrConfig, file, err))
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}
