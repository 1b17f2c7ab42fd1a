// Package triage is what a person does with messages that wait: list, find,
// replay, resume, discard, export and answer. The command line is a skin over
// these verbs, and so is any console: the same verbs, the same errors.
//
// Every verb is one pass of a [broker.Sifter] over one queue with another
// pick, so that all of them keep its promise: a message is removed only after
// its copy was confirmed and routed, or its line was written to disk. Killed at
// any point, a verb leaves each message in its queue or where it went, or in
// both, and running it again goes on where it ended.
//
// The package imports the seam and the standard library only.
package triage
