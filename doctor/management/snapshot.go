package management

import "time"

// Snapshot is a broker at one moment, as far as the user may see it.
type Snapshot struct {
	// TakenAt is this machine's clock when the lists were complete; ServerTime is
	// the broker's, of the Date header of the first answer, which has whole
	// seconds, and AskedAt this machine's in the middle of that call.
	TakenAt    time.Time
	AskedAt    time.Time
	ServerTime time.Time

	Overview         Overview
	Nodes            []Node
	Queues           []Queue
	Exchanges        []Exchange
	Bindings         []Binding
	Policies         []Policy // operator policies too
	Permissions      []Permission
	TopicPermissions []TopicPermission
	Connections      []Connection
	Channels         []Channel
	Consumers        []Consumer

	// Denied names the lists that this user may not see, each with what to grant.
	Denied []string

	// Calls is how many requests it took.
	Calls int
}

// Overview is the broker as a whole.
type Overview struct {
	Product     string // "RabbitMQ"
	Version     string // "4.3.6"
	Cluster     string
	RatesMode   string // none, basic or detailed
	StatsOff    bool   // numbers of messages and rates are not collected
	DefaultType string // default queue type; empty before 4.x
}

// Node is one node of the cluster.
type Node struct {
	Name          string
	Running       bool
	MemoryAlarm   bool
	MemoryUsed    int64 // bytes
	MemoryLimit   int64
	DiskAlarm     bool
	DiskFree      int64 // bytes
	DiskLimit     int64
	FilesUsed     int64 // 0 of 0 where the version does not tell
	FilesTotal    int64
	SocketsUsed   int64
	SocketsTotal  int64
	Partitions    []string
	Plugins       []string
	Uptime        time.Duration
	DelayedPlugin bool // the delayed-message exchange plugin is enabled
}

// Queue is one queue with its effective arguments.
type Queue struct {
	VHost     string
	Name      string
	Type      string // classic, quorum, stream
	Durable   bool
	Exclusive bool
	Delete    bool // auto-delete
	Arguments Arguments
	Policy    string    // name of the policy in force
	Operator  string    // name of the operator policy in force
	Effective Arguments // the definition that policies together give

	Node    string   // of the leader
	Members []string // of a quorum queue or stream
	Online  []string
	State   string // running, down, …

	Ready      int64
	Unacked    int64
	Messages   int64
	Bytes      int64
	DeadLetter int64 // messages_dlx: kept for at-least-once dead-lettering
	Consumers  int64

	// Capacity is 0 to 1: the share of the time in which the queue could deliver
	// at once. Below 1 something waits for consumers.
	Capacity float64

	// HeadAt is the timestamp property of the message at the head; zero where
	// the broker or the message has none.
	HeadAt time.Time

	// IdleSince is when the queue was last used; zero while it is.
	IdleSince time.Time

	// DeliveryLimit is the effective limit of a quorum queue where the version
	// tells (4.x), 0 where it does not, -1 for none.
	DeliveryLimit int64

	Rates QueueRates
}

// QueueRates are messages a second over the last samples.
type QueueRates struct {
	Publish float64
	Deliver float64 // handed to consumers or fetched, with and without ack
	Ack     float64
	Return  float64 // redelivered
}

// Exchange is one exchange. Its totals count since the node's statistics began.
type Exchange struct {
	VHost     string
	Name      string // empty is the default exchange
	Type      string
	Durable   bool
	Delete    bool
	Internal  bool
	Arguments Arguments
	Policy    string
	In        int64 // published to it
	Out       int64 // routed on
	InRate    float64
	OutRate   float64
}

// Binding leads from an exchange to a queue or an exchange.
type Binding struct {
	VHost       string
	Source      string // empty is the default exchange
	Destination string
	ToExchange  bool
	Key         string
	Arguments   Arguments
}

// Policy is a policy or, with Operator, an operator policy.
type Policy struct {
	VHost      string
	Name       string
	Pattern    string
	ApplyTo    string // queues, exchanges, all, classic_queues, quorum_queues, streams
	Priority   int64
	Definition Arguments
	Operator   bool
}

// Permission is what a user may do in a virtual host, as regular expressions.
type Permission struct {
	User      string
	VHost     string
	Configure string
	Write     string
	Read      string
}

// TopicPermission narrows a permission to routing keys of a topic exchange.
type TopicPermission struct {
	User     string
	VHost    string
	Exchange string
	Write    string
	Read     string
}

// Connection is one client.
type Connection struct {
	Name       string // "10.0.0.7:51034 -> 10.0.0.2:5672"
	ClientName string // connection_name of the client properties
	VHost      string
	User       string
	State      string // running, blocking, blocked, flow, …
	Node       string
	Channels   int64
	Since      time.Time
}

// Channel is one channel.
type Channel struct {
	Name        string // "10.0.0.7:51034 -> 10.0.0.2:5672 (1)"
	Connection  string
	VHost       string
	User        string
	Number      int64
	Prefetch    int64 // per consumer; 0 is without bound
	Global      int64 // per channel
	Unacked     int64
	Unconfirm   int64
	Consumers   int64
	Confirm     bool
	State       string
	IdleSince   time.Time
	AckRate     float64
	PublishRate float64
}

// Consumer is one subscription.
type Consumer struct {
	VHost     string
	Queue     string
	Tag       string
	Channel   string // name
	Prefetch  int64
	Ack       bool // it acknowledges
	Active    bool // of a single active consumer
	Exclusive bool
}

// Arguments are arguments of a declaration or a policy, with JSON's types: numbers
// are float64, tables map[string]any.
type Arguments map[string]any

// Text returns a text argument and whether there is one.
func (a Arguments) Text(name string) (string, bool) {
	s, ok := a[name].(string)
	return s, ok
}

// Number returns a whole number and whether there is one.
func (a Arguments) Number(name string) (int64, bool) {
	n, ok := a[name].(float64)
	return int64(n), ok
}
