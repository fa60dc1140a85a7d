//go:build unix

package monitor

import (
	"errors"
	"syscall"
)

// unreachable reports a network that does not lead anywhere.
func unreachable(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETDOWN)
}
