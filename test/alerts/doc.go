// Package alerts tests the shipped alert rules with promtool, and with a
// Prometheus that scrapes and evaluates.
package alerts
