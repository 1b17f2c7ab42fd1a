package membroker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// faults is what is wrong with a server now.
type faults struct {
	stopped   bool
	refusal   error
	refuse    int           // copies to refuse
	lose      int           // confirms to lose
	forbidden []string      // exchanges that nobody may write to
	blocked   string        // why publishes are not accepted
	unblocked chan struct{} // closed when they are again
	waiting   []*work
}

// Cut ends the connection of this client, as a network does that fails or a
// process that is killed: its sessions end with [broker.ErrUnreachable], and
// what they had not settled is counted as deliveries that ended without a
// settlement. The client may open new sessions; its peers do not notice.
func (b *Broker) Cut() {
	b.server.lock()
	defer b.server.unlock()
	b.endAll(fmt.Errorf("membroker: cut: %w", broker.ErrUnreachable), true)
}

// Stop makes the broker unreachable to all its clients. What is in the queues
// stays, and waits go on.
func (b *Broker) Stop() {
	b.server.lock()
	defer b.server.unlock()
	b.server.faults.stopped = true
	b.server.cutEverything()
}

// Start ends what [Broker.Stop] began.
func (b *Broker) Start() {
	b.server.lock()
	defer b.server.unlock()
	b.server.faults.stopped = false
}

// RefuseClients lets every later call fail with class, such as
// [broker.ErrCredentials] or [broker.ErrPermission]; nil ends it. Sessions that
// are open go on.
func (b *Broker) RefuseClients(class error) {
	b.server.lock()
	defer b.server.unlock()
	b.server.faults.refusal = class
}

// Forbid takes away, or gives back, the right to publish to exchange through
// an outlet, as a change of permissions does: opening one fails with
// [broker.ErrPermission], and so does the next message of one that is open,
// which ends with it.
func (b *Broker) Forbid(exchange string, forbidden bool) {
	b.server.lock()
	defer b.server.unlock()
	f := &b.server.faults
	f.forbidden = slices.DeleteFunc(f.forbidden, func(name string) bool { return name == exchange })
	if forbidden {
		f.forbidden = append(f.forbidden, exchange)
	}
}

// DeleteExchange deletes an exchange with its bindings. An outlet to it ends
// with its next message, as [broker.ErrMissing]. [Broker.Bind] makes it again.
func (b *Broker) DeleteExchange(name string) {
	b.server.lock()
	defer b.server.unlock()
	maps.DeleteFunc(b.server.bindings, func(r route, _ []string) bool { return r.exchange == name })
}

// RefuseCopies lets the next n copies of messages, and messages of outlets, end
// as [broker.ErrRefused].
func (b *Broker) RefuseCopies(n int) {
	b.server.lock()
	defer b.server.unlock()
	b.server.faults.refuse = n
}

// LoseConfirms lets the next n copies of messages, and messages of outlets, be
// stored and end as [broker.ErrUnknown] all the same, with the session or the
// outlet that asked for them.
func (b *Broker) LoseConfirms(n int) {
	b.server.lock()
	defer b.server.unlock()
	b.server.faults.lose = n
}

// Block lets all publishes wait, for the reason that consumers are told.
func (b *Broker) Block(reason string) {
	b.server.lock()
	defer b.server.unlock()
	if b.server.faults.blocked != "" {
		return
	}
	b.server.faults.blocked, b.server.faults.unblocked = reason, make(chan struct{})
	b.server.notifyAll(broker.NoticeBlocked, reason)
}

// Unblock ends what [Broker.Block] began, and carries out what waited.
func (b *Broker) Unblock() {
	b.server.lock()
	defer b.server.unlock()
	if b.server.faults.blocked == "" {
		return
	}
	close(b.server.faults.unblocked)
	b.server.faults.blocked, b.server.faults.unblocked = "", nil
	b.server.notifyAll(broker.NoticeUnblocked, "")
	b.server.resumeWaiting()
	for _, o := range slices.Clone(b.server.outlets) {
		o.resume()
	}
}

// DeleteQueue deletes a queue and what is in it. Its consumers get
// [broker.ErrDetached]; of a parked queue, a hold or a rung the next copy gets
// [broker.ErrUnrouted], until a session is opened that makes it again.
func (b *Broker) DeleteQueue(name string) {
	b.server.lock()
	defer b.server.unlock()
	q := b.server.queues[name]
	delete(b.server.queues, name)
	for _, s := range b.server.sessionsOf(func(s *session) bool { return s.queue == q }) {
		s.end(fmt.Errorf("membroker: queue %q was deleted: %w", name, broker.ErrDetached), true)
	}
}

// DropConsumers lets the broker forget who consumes a queue without telling
// them: they are connected and consume nothing, which only
// [broker.Session].Probe can find out.
func (b *Broker) DropConsumers(queue string) {
	b.server.lock()
	defer b.server.unlock()
	if q := b.server.queues[queue]; q != nil {
		q.consumers = nil
	}
}

func (s *server) cutEverything() {
	reason := fmt.Errorf("membroker: stopped: %w", broker.ErrUnreachable)
	for _, session := range s.sessionsOf(func(*session) bool { return true }) {
		session.end(reason, true)
	}
	for _, g := range s.siftings {
		g.end(reason)
	}
	for _, o := range slices.Clone(s.outlets) {
		o.end(reason)
	}
}

func (s *server) notifyAll(kind broker.NoticeKind, text string) {
	for _, session := range s.sessions {
		session.notify(kind, text)
	}
	for _, o := range s.outlets {
		o.tell(kind, text)
	}
}
