// Package cli is the command line: one file per command. The verbs themselves
// are in package triage; here is what a person types and sees.
package cli
