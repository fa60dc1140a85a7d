// Package pgerror judges errors of PostgreSQL and of the way to it.
package pgerror

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Code returns the SQLSTATE of an error that the server has returned, or "".
func Code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// Transient reports errors that may go away by themselves: a restart, a failover, a deadlock, a
// server that is out of connections, memory or disk.
func Transient(err error) bool {
	if code := Code(err); code != "" {
		return transientCode(code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}

func transientCode(code string) bool {
	switch code {
	case "40001", "40P01", // serialization failure, deadlock
		"55P03", "57014", // lock or statement took too long
		"57P01", "57P02", "57P03", "57P05", // shut down, crashed, starting, idle session ended
		"25P03", // idle in transaction for too long: we were paused
		"25006": // read only: the primary is a standby now
		return true
	}
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "58")
}
