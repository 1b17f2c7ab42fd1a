// Package sheets causes each failure of docs/runbooks for real, sees the
// signal that its page promises, types what the page says, and sees the system
// recovered. What is typed is read from the pages: they cannot be wrong without
// a test that fails.
package sheets
