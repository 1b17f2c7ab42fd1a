package doctor

import "strings"

// Role is what a queue is to Holdfast. The set is closed.
type Role string

// The roles.
const (
	RoleForeign Role = ""       // not Holdfast's, or a source
	RoleRung    Role = "rung"   // ns.retry.<ms>
	RoleHold    Role = "hold"   // <queue>.hold
	RoleParked  Role = "parked" // <queue>.parked, or ns.parked
	RoleStrays  Role = "strays" // ns.unrouted
	RoleReturn  Role = "return" // the exchange ns.return
	RoleRoot    Role = "root"   // the exchange ns
	RoleDead    Role = "dead"   // not ours; a queue that a dead-letter exchange leads to
)

// Names tells Holdfast's own queues and exchanges by their names, as
// broker/rabbitmq makes them.
type Names struct {
	// Namespaces begin the shared names. Empty means "holdfast".
	Namespaces []string
}

// Role returns the role that a name has.
func (n Names) Role(name string) Role {
	spaces := n.Namespaces
	if len(spaces) == 0 {
		spaces = []string{"holdfast"}
	}
	for _, ns := range spaces {
		rest, ok := strings.CutPrefix(name, ns)
		switch {
		case !ok:
		case rest == "":
			return RoleRoot
		case rest == ".return":
			return RoleReturn
		case rest == ".parked":
			return RoleParked
		case rest == ".unrouted":
			return RoleStrays
		case strings.HasPrefix(rest, ".retry."):
			return RoleRung
		}
	}
	switch {
	case strings.HasSuffix(name, ".parked"):
		return RoleParked
	case strings.HasSuffix(name, ".hold"):
		return RoleHold
	default:
		return RoleForeign
	}
}
