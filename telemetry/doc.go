// Package telemetry tells OpenTelemetry what consumers, relays, outboxes and
// inboxes do: metrics and traces.
//
// A [Telemetry] is a [holdfast.Observer] and a [holdfast.Tracer]. Counts of
// events come through the first; what a consumer knows of itself (its books,
// whether it is attached) is read at each collection from those that it was told
// to watch ([Telemetry.Watch]). [NewPrometheus] makes the scrape endpoint for a
// service's own mux.
//
// Metrics follow OpenTelemetry's conventions for messaging where there is one,
// and begin with holdfast otherwise; docs/telemetry.md lists them. No metric has
// an id, a routing key or a text as a label. Names come from a broker or a
// database, so that there is a bound on how many of them are told apart: what is
// beyond it counts as "other".
//
// One span is one attempt. It is the root of a trace of its own and is linked to
// the producer's context, which [Inject] puts into a message, and to the attempt
// that failed first. So a message that is retried for days makes no trace of
// days, and each attempt finds the others.
package telemetry
