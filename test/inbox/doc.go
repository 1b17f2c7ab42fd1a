// Package inbox tests the inbox and what is set aside on real databases, in
// processes that are killed, and behind a consumer.
package inbox
