// Package sqlstate classifies PostgreSQL errors by their SQLSTATE, for use as
// a [holdfast.Policy]'s Classify. It sees typed errors only and never reads a
// text.
//
// The classes are those of the PostgreSQL manual, appendix "PostgreSQL Error
// Codes".
package sqlstate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"

	"github.com/holdfast-mq/holdfast"
)

// Classify returns err with a verdict, or nil when it is no database error:
//
//   - class 22 (data) and 23 (constraint): park. The message itself is wrong.
//   - class 40 (rollback, deadlock): retry.
//   - classes 08, 57, 53 (connection, intervention, resources), and connection,
//     pool, TLS and I/O errors: hold. The database is not there for now.
//   - class 42 (syntax, access, schema) and every class it does not know:
//     hold. A schema that drifted must never park a whole backlog.
//
// It recognises every error with a method SQLState() string, as pgx and lib/pq
// have it.
func Classify(err error) error {
	var state interface{ SQLState() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &state):
		return byState(err, state.SQLState())
	case isOutage(err):
		return holdfast.Hold(err)
	default:
		return nil
	}
}

func byState(err error, state string) error {
	if len(state) != 5 {
		return holdfast.Hold(err)
	}
	switch state[:2] {
	case "22", "23":
		return holdfast.Park(err)
	case "40":
		return holdfast.Retry(err)
	default:
		return holdfast.Hold(err)
	}
}

func isOutage(err error) bool {
	var (
		network *net.OpError
		dns     *net.DNSError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		call    *os.SyscallError
	)
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &network) || errors.As(err, &dns) || errors.As(err, &record) ||
		errors.As(err, &alert) || errors.As(err, &cert) || errors.As(err, &unknown) || errors.As(err, &call)
}
