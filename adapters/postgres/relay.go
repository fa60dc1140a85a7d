package postgres

import "github.com/jackc/pgx/v5"

// relays reports whether what ~relay does is all that a transaction is to do: nobody
// else is in it, and nothing is held anywhere. At most one claim ends.
func (t *tx) relays(g *group) bool {
	return t.closed && g.n == 1 && t.memory.hold == none && len(t.memory.spent) < spentMax
}

const relayQuery = `select what, pool, priority, job_id, at, case when what = 0 then array[job_id] end, case when what = 0 then array[attempt + 1] end,
	kind, key, task_id, lane, role, holds, payload, available_at, max_attempts, dedupe_key, created_at, error from ~relay($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`

// relay ends a claim, if there is one to end, and makes another, for one worker: it
// is the whole transaction.
func (t *tx) relay(g *group, ended []ending, chain bool) {
	args := make([]any, 18) // null where nothing ends
	copy(args, []any{t.db.me, t.seq, t.now})
	for _, e := range ended {
		copy(args[3:], []any{e.id, e.attempt, e.key, e.status, e.err, when(e.started), e.pool})
	}
	copy(args[10:], []any{g.pool, g.from.priority, g.from.job, g.worker, t.now.Add(g.ttl), g.known[0], g.known[1], chain})
	t.closed, t.whole, g.relayed = false, true, true
	t.batch.Queue(t.db.q(relayQuery), args...).Query(func(rows pgx.Rows) error { return t.stepped(rows, g) })
}
