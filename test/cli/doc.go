// Package cli drives the holdfast command as a person on call does, against
// real servers.
package cli
