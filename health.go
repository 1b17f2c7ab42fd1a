package holdfast

import "time"

// State is where a consumer is in its life. The set is closed.
type State string

// The states.
const (
	StateNew          State = "new"          // Run was not called
	StateConnecting   State = "connecting"   // not attached yet
	StateAttached     State = "attached"     // attached and able to receive
	StateReconnecting State = "reconnecting" // was attached; trying again
	StateStopping     State = "stopping"     // told to stop; handlers finish
	StateStopped      State = "stopped"      // Run has returned
)

// Health is what a consumer knows of itself. Connected is not consuming: only
// StateAttached, which is proven again and again with the broker, means that
// messages can arrive.
type Health struct {
	Queue string    `json:"queue"`
	State State     `json:"state"`
	Since time.Time `json:"since"` // of State

	// Broker is the product and version, once it is known.
	Broker string `json:"broker,omitempty"`

	// ProvenAt is when the broker last confirmed the attachment: by a probe
	// or by a delivery.
	ProvenAt time.Time `json:"proven_at,omitzero"`

	// Err is why the consumer is not attached, and Credentials whether that
	// is because the broker refuses who we are: an incident of another kind
	// than a broker that is down.
	Err         string `json:"error,omitempty"`
	Credentials bool   `json:"credentials,omitempty"`

	// Blocked is the broker's reason while it accepts no publishes: failing
	// messages wait, others go on.
	Blocked string `json:"blocked,omitempty"`

	// Stuck is how many deliveries cannot be settled for now, because the
	// broker refuses their copies, and StuckErr what it says.
	Stuck    int    `json:"stuck,omitempty"`
	StuckErr string `json:"stuck_error,omitempty"`

	// OneAtATime says that the consumer takes one message at a time, since
	// one of those it gets may have killed a process.
	OneAtATime bool `json:"one_at_a_time,omitempty"`

	// Braked is the fingerprint that the consumer stands still for, and
	// BrakedSince since when: see [Brake].
	Braked      string    `json:"braked,omitempty"`
	BrakedSince time.Time `json:"braked_since,omitzero"`

	// TurnAt is when the consumer last went round its own loop, which it does about
	// twice a minute while it runs, whatever becomes of the broker: a try to
	// connect that is not answered may make it longer.
	TurnAt time.Time `json:"turn_at,omitzero"`

	Books Books `json:"books"`
}

// Ready reports whether messages can arrive.
func (h Health) Ready() bool { return h.State == StateAttached && h.Braked == "" }
