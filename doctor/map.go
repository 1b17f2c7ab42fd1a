package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/topology"
)

// vhost is one virtual host of a snapshot.
type vhost struct {
	name  string
	many  bool // there are others: subjects name it
	index *topology.Index
	rules topology.Rules
	paths []topology.Path
	names Names

	queues []management.Queue
	byName map[string]*management.Queue
	before map[string]*management.Queue // of the first look; nil without one
	dead   map[string]bool              // queues that a path ends in or goes through
	back   map[string]bool              // queues that are bound to a return exchange: sources of Holdfast
}

// vhosts splits the snapshot. It is done once for all checks.
func (f *Facts) vhosts() []*vhost {
	f.split.Do(func() { f.parts = splitByVHost(f) })
	return f.parts
}

func splitByVHost(f *Facts) []*vhost {
	s := f.RabbitMQ
	topologies := Topologies(s)
	rules := topology.RulesOf(s.Overview.Version)
	all := map[string]*vhost{}
	for name, t := range topologies {
		v := &vhost{
			name: name, many: len(topologies) > 1, index: topology.NewIndex(t), rules: rules, names: f.Names,
			byName: map[string]*management.Queue{}, dead: map[string]bool{}, back: map[string]bool{},
		}
		v.paths = topology.Paths(v.index, rules)
		for _, p := range v.paths {
			for _, h := range p.Hops {
				for _, q := range h.Reaches {
					v.dead[q] = v.dead[q] || q != p.Queue
				}
			}
		}
		for _, b := range t.Bindings {
			if !b.ToExchange && f.Names.Role(b.Source) == RoleReturn {
				v.back[b.Destination] = true
			}
		}
		all[name] = v
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		v := all[q.VHost]
		v.queues = append(v.queues, *q)
		v.byName[q.Name] = q
	}
	if f.Before != nil {
		for i := range f.Before.Queues {
			q := &f.Before.Queues[i]
			if v := all[q.VHost]; v != nil {
				if v.before == nil {
					v.before = map[string]*management.Queue{}
				}
				v.before[q.Name] = q
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(all), func(a, b *vhost) int { return strings.Compare(a.name, b.name) })
	for _, v := range sorted {
		slices.SortFunc(v.queues, func(a, b management.Queue) int { return strings.Compare(a.Name, b.Name) })
	}
	return sorted
}

// Topologies are the virtual hosts of a snapshot, with the arguments that are in
// force.
func Topologies(s *management.Snapshot) map[string]*topology.Topology {
	all := map[string]*topology.Topology{}
	of := func(name string) *topology.Topology {
		if all[name] == nil {
			all[name] = &topology.Topology{}
		}
		return all[name]
	}
	for _, e := range s.Exchanges {
		t := of(e.VHost)
		t.Exchanges = append(t.Exchanges, topology.Exchange{
			Name: e.Name, Type: e.Type, Durable: e.Durable, Delete: e.Delete, Internal: e.Internal,
			Arguments: e.Arguments, Alternate: alternateOf(e, s.Policies),
		})
	}
	for _, q := range s.Queues {
		t := of(q.VHost)
		t.Queues = append(t.Queues, topology.Queue{
			Name: q.Name, Type: q.Type, Durable: q.Durable, Exclusive: q.Exclusive, Delete: q.Delete,
			Arguments: q.Arguments, Effective: inForce(q),
		})
	}
	for _, b := range s.Bindings {
		t := of(b.VHost)
		t.Bindings = append(t.Bindings, topology.Binding{
			Source: b.Source, Destination: b.Destination, ToExchange: b.ToExchange, Key: b.Key, Arguments: b.Arguments,
		})
	}
	return all
}

func alternateOf(e management.Exchange, policies []management.Policy) string {
	if name, ok := e.Arguments.Text(topology.ArgAlternate); ok {
		return name
	}
	for _, p := range policies {
		if p.VHost == e.VHost && p.Name == e.Policy && !p.Operator {
			name, _ := p.Definition.Text(topology.ArgAlternate)
			return name
		}
	}
	return ""
}

// limits are the arguments of which the smaller value holds where a policy has
// one, too; of all others the argument does.
var limits = map[string]bool{
	topology.ArgMessageTTL: true, topology.ArgExpires: true, topology.ArgMaxLength: true,
	topology.ArgMaxLengthBytes: true, topology.ArgDeliveryLimit: true,
}

// inForce are a queue's arguments with what its policies set. The delivery limit
// is the broker's own word where it tells: -1 in a policy is read there, and not
// obeyed.
func inForce(q management.Queue) map[string]any {
	args := maps.Clone(map[string]any(q.Arguments))
	if args == nil {
		args = map[string]any{}
	}
	for key, value := range q.Effective {
		name := "x-" + key
		own, has := args[name]
		ownNumber, isNumber := own.(float64)
		number, alsoNumber := value.(float64)
		switch {
		case !has:
			args[name] = value
		case limits[name] && isNumber && alsoNumber:
			args[name] = min(ownNumber, number)
		}
	}
	if q.DeliveryLimit != 0 {
		args[topology.ArgDeliveryLimit] = float64(q.DeliveryLimit)
	}
	return args
}

// own reports whether a queue is one of Holdfast's places.
func (v *vhost) own(name string) bool { return v.names.Role(name) != RoleForeign }

// source reports whether a Holdfast consumer has been attached to the queue.
func (v *vhost) source(name string) bool { return v.back[name] }

func (v *vhost) subject(kind, name string) string {
	if v.many {
		return fmt.Sprintf("%s %q in virtual host %q", kind, name, v.name)
	}
	return fmt.Sprintf("%s %q", kind, name)
}
