// Package management reads RabbitMQ's management API, versions 3.10 to 4.3, as
// far as the doctor and the console need it: whole lists, a bounded number of
// calls, and only the columns that are used. It changes nothing on the broker.
//
// It is ours since the one kept Go client decodes every field of every version
// into its structs, and neither pages nor picks columns for all lists.
package management
