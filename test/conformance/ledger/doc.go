// Package ledger keeps docs/conformance.md, which says what the suite of
// broker/brokertest has proven on each configuration: a row for each, a cell
// for each promise of the contract. [Check] compares a run with it, so that a
// promise is neither lost nor won without somebody having seen it, and [Update]
// writes what a run found. A configuration that nobody ever ran has a row too.
//
// A test package that runs the suite needs three lines:
//
//	var found ledger.Run                      // a variable of the package
//	found.Add(brokertest.Run(t, env))         // in each test
//	os.Exit(found.End(m.Run()))               // in TestMain
//
// Its flag -update writes instead of comparing. Packages write the same file,
// so they update one after the other.
package ledger
