package app

import (
	"strings"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// sourceRole is what a queue is called that is none of ours and where nothing
// ends: the doctor has no word for it.
const sourceRole = "source"

func queueLooks(f *doctor.Facts) []telemetry.QueueLook {
	dead := deadEnds(f.RabbitMQ, f.Names)
	looks := make([]telemetry.QueueLook, 0, len(f.RabbitMQ.Queues))
	for i := range f.RabbitMQ.Queues {
		q := &f.RabbitMQ.Queues[i]
		if !lasting(q) {
			continue
		}
		role := string(f.Names.Role(q.Name))
		switch {
		case role != "":
		case dead[queueKey{q.VHost, q.Name}]:
			role = string(doctor.RoleDead)
		default:
			role = sourceRole
		}
		looks = append(looks, telemetry.QueueLook{
			VHost: q.VHost, Queue: q.Name, Role: role,
			Messages: q.Messages, Ready: q.Ready, Unacked: q.Unacked, Consumers: q.Consumers, DeadLetter: q.DeadLetter,
		})
	}
	return looks
}

// lasting reports whether a queue has numbers that mean something over time. One
// of a single connection goes with it and has a name that is an id; a stream
// keeps what was consumed.
func lasting(q *management.Queue) bool {
	return !q.Exclusive && !strings.HasPrefix(q.Name, "amq.") && q.Type != "stream"
}

type queueKey struct{ vhost, name string }

// deadEnds are the queues where dead-lettering ends: something leads there, and
// nothing leads on. A queue that hands on what it dead-letters waits for a time,
// or is the source that everything comes back to.
func deadEnds(s *management.Snapshot, names doctor.Names) map[queueKey]bool {
	exchanges, ends := map[queueKey]bool{}, map[queueKey]bool{}
	for i := range s.Queues {
		q := &s.Queues[i]
		exchange, key, ok := deadLetter(q)
		switch {
		case !ok, names.Role(exchange) != doctor.RoleForeign: // our own exchanges lead home
		case exchange == "":
			ends[queueKey{q.VHost, key}] = true
		default:
			exchanges[queueKey{q.VHost, exchange}] = true
		}
	}
	for _, b := range s.Bindings {
		if !b.ToExchange && exchanges[queueKey{b.VHost, b.Source}] {
			ends[queueKey{b.VHost, b.Destination}] = true
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		if _, _, leadsOn := deadLetter(q); leadsOn {
			delete(ends, queueKey{q.VHost, q.Name})
		}
	}
	return ends
}

// deadLetter is where a queue sends what it dead-letters: an argument counts
// before a policy.
func deadLetter(q *management.Queue) (exchange, key string, ok bool) {
	if exchange, ok = q.Arguments.Text("x-dead-letter-exchange"); !ok {
		exchange, ok = q.Effective.Text("dead-letter-exchange")
	}
	if key, _ = q.Arguments.Text("x-dead-letter-routing-key"); key == "" {
		key, _ = q.Effective.Text("dead-letter-routing-key")
	}
	return exchange, key, ok
}

func nodeLooks(f *doctor.Facts) []telemetry.NodeLook {
	var looks []telemetry.NodeLook
	for _, n := range f.RabbitMQ.Nodes {
		looks = append(looks, telemetry.NodeLook{
			Node: n.Name, Memory: n.MemoryAlarm, Disk: n.DiskAlarm,
			Files: n.FilesTotal > 0 && n.FilesUsed >= n.FilesTotal || n.SocketsTotal > 0 && n.SocketsUsed >= n.SocketsTotal,
		})
	}
	return looks
}

// blockedConnections counts those that may not publish, or may not once they
// try.
func blockedConnections(f *doctor.Facts) (n int) {
	for _, c := range f.RabbitMQ.Connections {
		if strings.HasPrefix(c.State, "block") {
			n++
		}
	}
	return n
}

// surveyLooks are the sources of a broker that is not RabbitMQ, each with the
// parked messages that belong to it.
func surveyLooks(b *doctor.BrokerFacts) []telemetry.QueueLook {
	var looks []telemetry.QueueLook
	for _, s := range b.Survey.Sources {
		if s.Err != nil {
			continue
		}
		looks = append(looks,
			telemetry.QueueLook{
				Queue: s.Queue, Role: sourceRole, Messages: int64(s.Ready + s.Unsettled),
				Ready: int64(s.Ready), Unacked: int64(s.Unsettled), Consumers: int64(max(s.Consumers, 0)),
			},
			telemetry.QueueLook{Queue: s.Queue, Role: string(doctor.RoleParked), Messages: int64(s.Parked), Ready: int64(s.Parked)})
	}
	return looks
}

func countFindings(r doctor.Report) []telemetry.FindingCount {
	type kind struct{ id, severity string }
	counts := map[kind]int{}
	for _, f := range r.Findings {
		counts[kind{f.ID, f.Severity.String()}]++
	}
	var out []telemetry.FindingCount
	for k, n := range counts {
		out = append(out, telemetry.FindingCount{ID: k.id, Severity: k.severity, Count: n})
	}
	return out
}
