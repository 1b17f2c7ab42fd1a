// Package embedded runs a NATS server with JetStream inside the process, on a
// folder of its own. It is what `embedded:DIR` and the demo stand on: a real
// broker with nothing to install.
//
// # What a folder keeps
//
// Streams, consumers and messages survive a clean stop and a kill of the
// process: what was acknowledged to a publisher was written to the file
// system before. Which deliveries were acknowledged by a consumer is written
// every 100 ms; after a kill, those of the last moment are delivered again.
//
// A power loss or a crash of the machine is another matter. The server asks
// the disk to flush every two minutes, so that acknowledged messages of up to
// two minutes may be gone. [Options.SyncAlways] flushes before each
// acknowledgement, which a disk can do some hundred or thousand times a second.
//
// # Who may use it
//
// One server at a time: the folder is locked, and a second start is
// [ErrInUse] with the process that has it. There is no network listener
// unless one is asked for, and then on a loopback address only. It asks for no
// password, so whoever can log in to the machine can use it.
package embedded
