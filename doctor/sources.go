package doctor

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// StoreFacts is an outbox, an inbox and their set-aside messages.
type StoreFacts struct {
	// Name is the database for people, without credentials.
	Name string

	Outbox  store.Status
	Inboxes []store.InboxStatus
	Asides  []store.AsideGroup

	// Clock is the database's time less this machine's, as far as one round
	// trip tells, and Known whether it does.
	Clock time.Duration
	Known bool

	// Err is why the tables could not be checked: [store.ErrSchema] or
	// [store.ErrRefused].
	Err error
}

// PrometheusFacts is what a Prometheus says of itself.
type PrometheusFacts struct {
	// URL is without credentials.
	URL string

	Rules   []Rule
	Targets []Target

	// Labels are, for each metric that a shipped rule uses and of the labels that
	// it is used with, those that all its series have; a metric without series
	// within the last hour is absent.
	Labels map[string][]string

	// Alertmanagers is how many it sends alerts to.
	Alertmanagers int
}

// Rule is one alerting rule as Prometheus has loaded it.
type Rule struct {
	Group     string
	Name      string
	Query     string
	Health    string // ok, err or unknown
	LastError string
	Evaluated time.Time // zero: never
	Interval  time.Duration
	State     string // inactive, pending or firing
}

// Target is one that it scrapes.
type Target struct {
	Job       string
	Address   string
	Up        bool
	LastError string

	// Ours says that it has told metrics of Holdfast's within the last day.
	Ours bool
}

// BrokerFacts is what a broker that is not RabbitMQ tells of its own account.
type BrokerFacts struct {
	Product string
	Survey  broker.Survey
}

// ServiceFacts is what one service is configured to do, and what the broker
// says to its credentials.
type ServiceFacts struct {
	// User is who the service logs in as, and VHost where.
	User  string
	VHost string

	// Login is nil when the broker let it in, and otherwise of a class:
	// [broker.ErrCredentials] or [broker.ErrUnreachable]. StoredDiffers says
	// that a second place where its password is kept has another one; Stored
	// whether there is a second place.
	Login         error
	Stored        bool
	StoredDiffers bool

	// Queues are those that it consumes; Rungs its ladder.
	Queues []string
	Rungs  []time.Duration

	Namespace    string
	SharedParked bool
}
