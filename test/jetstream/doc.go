// Package jetstream holds the tests of the JetStream driver that need a
// server of their own: one that is stopped, frozen, filled, set up against us.
package jetstream
