package sqlite

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// A question for failed jobs reads no job that ended well.
func TestFailedJobsAreIndexed(t *testing.T) {
	d, err := Open(t.Context(), Options{Path: t.TempDir() + "/q.db"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	for _, c := range []struct {
		filter queue.Filter
		want   string
	}{
		{queue.Filter{Failed: true}, "SCAN ended USING COVERING INDEX ended_failed"},
		{queue.Filter{Failed: true, Pool: "p"}, "SCAN ended USING COVERING INDEX ended_failed"},
		{queue.Filter{Failed: true, TaskID: 1}, "SEARCH j USING INDEX jobs_task"},
		{queue.Filter{Failed: true, ID: 1}, "SEARCH j USING INTEGER PRIMARY KEY"},
	} {
		query, args := selection(c.filter, "j.id")
		rows, err := d.read.QueryContext(t.Context(), "explain query plan "+query, args...)
		plan, err := collect(rows, err, func(r *sql.Rows) (text string, err error) {
			var a, b, c int
			return text, r.Scan(&a, &b, &c, &text)
		})
		require.NoError(t, err)
		require.Contains(t, strings.Join(plan, "\n"), c.want)
	}
}
