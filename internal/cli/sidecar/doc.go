// Package sidecar turns an HTTP endpoint or a command into a handler, so that
// a service in any language can consume under Holdfast. The contract is in
// docs/cli.md.
package sidecar
