package sqlite_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
)

func TestChain(t *testing.T) {
	sqlstoretest.Chain(t, func(t *testing.T) (first, second sqlstoretest.Chained, tamper func(string)) {
		t.Helper()
		path := place(t)
		raw := openRaw(t, path)
		return openAt(t, path), openAt(t, path), func(query string) { execute(t, raw, strings.ReplaceAll(query, "~", "")) }
	})
}
