package management

import (
	"slices"
	"strings"
	"time"
)

// list is one list of the API: where it is, which columns of it are used, and
// how an entry is taken.
type list struct {
	path    string
	columns string
	paged   bool

	// scoped lists exist per virtual host.
	scoped bool

	// grant is what to give a user who may not see it.
	grant string

	take func(*Snapshot, object)
}

const (
	monitoring    = "the tag monitoring"
	administrator = "the tag administrator, or monitoring and policymaker"
)

var lists = []list{
	{path: "nodes", grant: monitoring, take: takeNode, columns: "name,running,mem_alarm,mem_used,mem_limit,disk_free_alarm,disk_free,disk_free_limit," +
		"fd_used,fd_total,sockets_used,sockets_total,partitions,enabled_plugins,uptime"},
	{path: "queues", paged: true, scoped: true, take: takeQueue, columns: "vhost,name,type,durable,exclusive,auto_delete,arguments,policy,operator_policy," +
		"effective_policy_definition,node,leader,members,online,state,messages,messages_ready,messages_unacknowledged,message_bytes,messages_dlx,consumers," +
		"consumer_capacity,consumer_utilisation,head_message_timestamp,idle_since,delivery_limit,message_stats"},
	{path: "exchanges", paged: true, scoped: true, take: takeExchange, columns: "vhost,name,type,durable,auto_delete,internal,arguments,policy,message_stats"},
	{path: "bindings", scoped: true, take: takeBinding, columns: "vhost,source,destination,destination_type,routing_key,arguments"},
	{path: "policies", scoped: true, grant: administrator, take: takePolicy(false)},
	{path: "operator-policies", scoped: true, grant: administrator, take: takePolicy(true)},
	{path: "permissions", grant: "the tag administrator", take: takePermission},
	{path: "topic-permissions", grant: "the tag administrator", take: takeTopicPermission},
	{path: "connections", paged: true, take: takeConnection, columns: "name,client_properties,user_provided_name,vhost,user,state,node,channels,connected_at"},
	{path: "channels", paged: true, take: takeChannel, columns: "name,connection_details,vhost,user,number,prefetch_count,global_prefetch_count," +
		"messages_unacknowledged,messages_unconfirmed,consumer_count,confirm,state,idle_since,message_stats"},
	{path: "consumers", scoped: true, take: takeConsumer},
}

func takeNode(s *Snapshot, o object) {
	plugins := o.texts("enabled_plugins")
	s.Nodes = append(s.Nodes, Node{
		Name: o.text("name"), Running: o.yes("running"),
		MemoryAlarm: o.yes("mem_alarm"), MemoryUsed: o.number("mem_used"), MemoryLimit: o.number("mem_limit"),
		DiskAlarm: o.yes("disk_free_alarm"), DiskFree: o.number("disk_free"), DiskLimit: o.number("disk_free_limit"),
		FilesUsed: o.number("fd_used"), FilesTotal: o.number("fd_total"),
		SocketsUsed: o.number("sockets_used"), SocketsTotal: o.number("sockets_total"),
		Partitions: o.texts("partitions"), Plugins: plugins, Uptime: time.Duration(o.number("uptime")) * time.Millisecond,
		DelayedPlugin: slices.Contains(plugins, "rabbitmq_delayed_message_exchange"),
	})
}

func takeQueue(s *Snapshot, o object) {
	stats := o.object("message_stats")
	q := Queue{
		VHost: o.text("vhost"), Name: o.text("name"), Type: o.text("type"),
		Durable: o.yes("durable"), Exclusive: o.yes("exclusive"), Delete: o.yes("auto_delete"),
		Arguments: o.arguments("arguments"), Effective: o.arguments("effective_policy_definition"),
		Policy: o.text("policy"), Operator: o.text("operator_policy"),
		Node: o.text("node"), Members: o.texts("members"), Online: o.texts("online"), State: o.text("state"),
		Ready: o.number("messages_ready"), Unacked: o.number("messages_unacknowledged"), Messages: o.number("messages"),
		Bytes: o.number("message_bytes"), DeadLetter: o.number("messages_dlx"), Consumers: o.number("consumers"),
		Capacity: o.fraction("consumer_capacity"), IdleSince: o.time("idle_since"), DeliveryLimit: limitOf(o),
		Rates: QueueRates{Publish: stats.rate("publish"), Deliver: stats.rate("deliver_get"), Ack: stats.rate("ack"), Return: stats.rate("redeliver")},
	}
	if at := o.number("head_message_timestamp"); at > 0 {
		q.HeadAt = time.Unix(at, 0).UTC()
	}
	if leader := o.text("leader"); leader != "" {
		q.Node = leader
	}
	s.Queues = append(s.Queues, q)
}

// limitOf reads a limit that is a number, or "unlimited".
func limitOf(o object) int64 {
	if o.text("delivery_limit") == "unlimited" {
		return -1
	}
	return o.number("delivery_limit")
}

func takeExchange(s *Snapshot, o object) {
	stats := o.object("message_stats")
	s.Exchanges = append(s.Exchanges, Exchange{
		VHost: o.text("vhost"), Name: o.text("name"), Type: o.text("type"),
		Durable: o.yes("durable"), Delete: o.yes("auto_delete"), Internal: o.yes("internal"),
		Arguments: o.arguments("arguments"), Policy: o.text("policy"),
		In: stats.number("publish_in"), Out: stats.number("publish_out"),
		InRate: stats.rate("publish_in"), OutRate: stats.rate("publish_out"),
	})
}

func takeBinding(s *Snapshot, o object) {
	s.Bindings = append(s.Bindings, Binding{
		VHost: o.text("vhost"), Source: o.text("source"), Destination: o.text("destination"),
		ToExchange: o.text("destination_type") == "exchange", Key: o.text("routing_key"), Arguments: o.arguments("arguments"),
	})
}

func takePolicy(operator bool) func(*Snapshot, object) {
	return func(s *Snapshot, o object) {
		s.Policies = append(s.Policies, Policy{
			VHost: o.text("vhost"), Name: o.text("name"), Pattern: o.text("pattern"), ApplyTo: o.text("apply-to"),
			Priority: o.number("priority"), Definition: o.arguments("definition"), Operator: operator,
		})
	}
}

func takePermission(s *Snapshot, o object) {
	s.Permissions = append(s.Permissions, Permission{
		User: o.text("user"), VHost: o.text("vhost"), Configure: o.text("configure"), Write: o.text("write"), Read: o.text("read"),
	})
}

func takeTopicPermission(s *Snapshot, o object) {
	s.TopicPermissions = append(s.TopicPermissions, TopicPermission{
		User: o.text("user"), VHost: o.text("vhost"), Exchange: o.text("exchange"), Write: o.text("write"), Read: o.text("read"),
	})
}

func takeConnection(s *Snapshot, o object) {
	client := o.text("user_provided_name")
	if client == "" {
		client = o.object("client_properties").text("connection_name")
	}
	c := Connection{
		Name: o.text("name"), ClientName: client, VHost: o.text("vhost"), User: o.text("user"),
		State: o.text("state"), Node: o.text("node"), Channels: o.number("channels"),
	}
	if at := o.number("connected_at"); at > 0 {
		c.Since = time.UnixMilli(at).UTC()
	}
	s.Connections = append(s.Connections, c)
}

func takeChannel(s *Snapshot, o object) {
	stats := o.object("message_stats")
	s.Channels = append(s.Channels, Channel{
		Name: o.text("name"), Connection: o.object("connection_details").text("name"), VHost: o.text("vhost"), User: o.text("user"),
		Number: o.number("number"), Prefetch: o.number("prefetch_count"), Global: o.number("global_prefetch_count"),
		Unacked: o.number("messages_unacknowledged"), Unconfirm: o.number("messages_unconfirmed"), Consumers: o.number("consumer_count"),
		Confirm: o.yes("confirm"), State: o.text("state"), IdleSince: o.time("idle_since"),
		AckRate: stats.rate("ack"), PublishRate: stats.rate("publish"),
	})
}

func takeConsumer(s *Snapshot, o object) {
	queue := o.object("queue")
	s.Consumers = append(s.Consumers, Consumer{
		VHost: queue.text("vhost"), Queue: queue.text("name"), Tag: o.text("consumer_tag"),
		Channel: o.object("channel_details").text("name"), Prefetch: o.number("prefetch_count"),
		Ack: o.yes("ack_required"), Active: o.yes("active"), Exclusive: o.yes("exclusive"),
	})
}

// inVHost keeps of the lists that do not exist per virtual host what belongs to
// one.
func (s *Snapshot) inVHost(vhost string) {
	other := func(v string) bool { return v != vhost }
	s.Permissions = slices.DeleteFunc(s.Permissions, func(p Permission) bool { return other(p.VHost) })
	s.TopicPermissions = slices.DeleteFunc(s.TopicPermissions, func(p TopicPermission) bool { return other(p.VHost) })
	s.Connections = slices.DeleteFunc(s.Connections, func(c Connection) bool { return other(c.VHost) })
	s.Channels = slices.DeleteFunc(s.Channels, func(c Channel) bool { return other(c.VHost) })
}

func (s *Snapshot) denied(l list) {
	s.Denied = append(s.Denied, "the list of "+strings.ReplaceAll(l.path, "-", " ")+" may not be read: give the user "+l.grant)
}
