package sqlstore

import (
	"context"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	pauses = `select agent, model, kind, reason, since, until, next_try, task_id, version from ~agent_pauses
		order by agent collate "C", model collate "C"`
	dropPause = "delete from ~agent_pauses where agent = $1 and model = $2"
	savePause = `insert into ~agent_pauses (agent, model, kind, reason, since, until, next_try, task_id, version)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		on conflict (agent, model) do update set kind = excluded.kind, reason = excluded.reason,
		since = excluded.since, until = excluded.until,
		next_try = excluded.next_try, task_id = excluded.task_id, version = excluded.version`
)

func scanPause(rows Rows) (p task.Pause, err error) {
	return p, rows.Scan(&p.Agent, &p.Model, (*string)(&p.Kind), &p.Reason, &p.Since, &p.Until, &p.Next, &p.Task, &p.Version)
}

func (s *Store) Pauses(ctx context.Context) ([]task.Pause, error) {
	return list(ctx, s, scanPause, pauses)
}

// loadPauses reads what a commit that changes pauses is compared with.
func (t *Tx) loadPauses(l *loaded, c *task.Commit) {
	if len(c.Pauses)+len(c.Resumed) > 0 {
		t.Queue(into(&l.pauses, scanPause), pauses)
	}
}

func (t *Tx) savePauses(c *task.Commit) {
	for _, p := range c.Resumed {
		t.Queue(nil, dropPause, p.Agent, p.Model)
	}
	for _, p := range c.Pauses {
		t.Queue(nil, savePause, p.Agent, p.Model, string(p.Kind), p.Reason, p.Since, p.Until, p.Next, p.Task, p.Version+1)
	}
}
