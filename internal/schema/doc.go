// Package schema makes the tables of a store, undoes them, prints them for
// somebody else's migration tool, and says how what is there differs from what
// is expected.
//
// A store describes its tables by a [Set]: migrations as templates, so that
// every object lies in a schema or under a prefix of the user's choice, and a
// list of what they make ([Object]). The migrations are goose's; its version
// table lies beside the tables, so that two stores in one database, and the
// user's own goose, do not meet.
package schema
