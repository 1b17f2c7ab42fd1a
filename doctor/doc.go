// Package doctor finds the failures that nobody notices: it looks at a broker,
// a database and a Prometheus as they are, and says what is wrong, how it is
// known, what a user of the system would notice (usually that something does
// not come), and what to type.
//
// A [Check] is a pure function of [Facts], which were gathered before with a
// bounded number of calls; each check is a file of its own. What could not be
// looked at is told too ([Report.Blind]): no finding is no proof where nobody
// could look.
package doctor
