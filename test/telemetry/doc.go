// Package telemetry follows messages through real brokers and databases by their
// traces and metrics.
package telemetry
