// Package report writes a [doctor.Report] for the programs that read one in CI:
// as SARIF 2.1.0 for code scanning, and as JUnit's XML for test reports.
package report
