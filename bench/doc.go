// Command bench measures Holdfast against what one would write by hand on the
// same client library, its own use of memory, and what the count costs each driver's reader. docs/bench.md says what each
// line means.
//
// Every figure is a ratio inside one run: the contestants take turns in this
// one process, on the same broker, with the same connection parameters. On
// JetStream the broker is in this process too. It is not a test. A target that is missed is marked, and the exit code stays 0.
package main
