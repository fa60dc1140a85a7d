package pgerror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgerror"
)

func TestTransient(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	for _, code := range []string{"40001", "40P01", "57P01", "25006", "08006", "53300", "58030"} {
		require.True(t, pgerror.Transient(server(code)), code)
	}
	for _, code := range []string{"23505", "42P01", "22P02", "28P01"} {
		require.False(t, pgerror.Transient(server(code)), code)
	}
	require.True(t, pgerror.Transient(fmt.Errorf("read: %w", io.ErrUnexpectedEOF)))
	require.True(t, pgerror.Transient(context.DeadlineExceeded))
	require.False(t, pgerror.Transient(context.Canceled))
	require.False(t, pgerror.Transient(errors.New("a track has no geometry")))
}
