package broker

import "strings"

// captureFields are the headers that a capture may set.
var captureFields = func() map[string]bool {
	fields := map[string]bool{}
	for _, name := range []string{
		HeaderVersion, HeaderID, HeaderAttempt, HeaderLap, HeaderCrashes, HeaderReason, HeaderError, HeaderErrorSHA256,
		HeaderCause, HeaderQueue, HeaderExchange, HeaderKey, HeaderFirstFailedAt, HeaderFailedAt, HeaderNotBefore,
		HeaderHost, HeaderToken, HeaderTrace,
	} {
		fields[name] = true
	}
	return fields
}()

// foreignFields are what Brighter stamps on a rejected message. With them on,
// its consumers would reject a replayed message at once.
var foreignFields = map[string]bool{
	"originalTopic": true, "originalMessageType": true, "rejectionReason": true,
	"rejectionMessage": true, "rejectionTimestamp": true,
}

// CaptureField reports whether a capture may set the header. A new capture
// replaces an old one whole, so all of these go before it is written.
func CaptureField(name string) bool { return captureFields[name] }

// FailureField reports whether failure added the header, Holdfast's or another
// library's. A fresh copy ([Action]) goes without. What the broker itself
// adds, a driver knows.
func FailureField(name string) bool {
	return foreignFields[name] || strings.HasPrefix(name, HeaderPrefix)
}
