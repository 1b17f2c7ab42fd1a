package outbox

import "encoding/json"

// Codec turns values into payloads and back.
type Codec struct {
	// ContentType is the message's property of that name.
	ContentType string

	Encode func(value any) ([]byte, error)

	// Decode reads payload into the value that into points to.
	Decode func(payload []byte, into any) error
}

// JSON is the codec of events that name no other.
var JSON = Codec{ContentType: "application/json", Encode: json.Marshal, Decode: json.Unmarshal}
