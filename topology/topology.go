package topology

// Topology is the exchanges, queues and bindings of one virtual host.
type Topology struct {
	Exchanges []Exchange `json:"exchanges,omitempty"`
	Queues    []Queue    `json:"queues,omitempty"`
	Bindings  []Binding  `json:"bindings,omitempty"`
}

// Exchange is one exchange.
type Exchange struct {
	Name      string         `json:"name"` // empty is the default exchange
	Type      string         `json:"type"`
	Durable   bool           `json:"durable"`
	Delete    bool           `json:"auto_delete,omitempty"`
	Internal  bool           `json:"internal,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`

	// Alternate is the alternate exchange in force, by argument or policy.
	Alternate string `json:"-"`
}

// Queue is one queue.
type Queue struct {
	Name      string         `json:"name"`
	Type      string         `json:"type,omitempty"` // classic, quorum, stream; empty is not said
	Durable   bool           `json:"durable"`
	Exclusive bool           `json:"exclusive,omitempty"`
	Delete    bool           `json:"auto_delete,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`

	// Effective are the arguments in force, policies included, with the names
	// of arguments: x-message-ttl, x-dead-letter-exchange, x-delivery-limit, ….
	// nil means Arguments.
	Effective map[string]any `json:"-"`
}

// Binding leads from an exchange to a queue or, with ToExchange, an exchange.
type Binding struct {
	Source      string         `json:"source"`
	Destination string         `json:"destination"`
	ToExchange  bool           `json:"to_exchange,omitempty"`
	Key         string         `json:"key"`
	Arguments   map[string]any `json:"arguments,omitempty"`
}

// Manifest is what one service says of itself, committed beside its code and
// compared with those of all others.
type Manifest struct {
	Version int    `json:"version"` // 1
	Service string `json:"service"`
	Owner   string `json:"owner,omitempty"` // who is to be woken
	VHost   string `json:"vhost,omitempty"` // empty is "/"

	// User is who the service logs in as; empty is not said.
	User string `json:"user,omitempty"`

	// Declares is what the service makes at its start.
	Declares Topology `json:"declares"`

	// Publishes is what it publishes, Consumes from which queues it takes.
	Publishes []Publication `json:"publishes,omitempty"`
	Consumes  []Consumption `json:"consumes,omitempty"`
}

// Publication is one kind of message that a service publishes.
type Publication struct {
	Exchange string `json:"exchange"`
	Key      string `json:"key"` // as published; a part that varies is *, several are #
	Type     string `json:"type,omitempty"`
}

// Consumption is one queue that a service consumes.
type Consumption struct {
	Queue string `json:"queue"`

	// Keys are those that its handler knows; empty is not said.
	Keys []string `json:"keys,omitempty"`
}
