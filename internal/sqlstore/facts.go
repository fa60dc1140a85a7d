package sqlstore

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	factsLike = `select kind, of_what, task_id, text, since from ~facts where kind = $1`
	factOrder = ` order by of_what collate "C", task_id`
	dropFact  = "delete from ~facts where kind = $1 and of_what = $2 and task_id = $3"
	saveFact  = `insert into ~facts (kind, of_what, task_id, text, since) values ($1, $2, $3, $4, $5)
		on conflict (kind, of_what, task_id) do update set text = excluded.text`
)

func (s *Store) Facts(ctx context.Context, like task.Fact, limit int) ([]task.Fact, error) {
	query, args := factsLike, []any{string(like.Kind)}
	add := func(text string, arg any) {
		args = append(args, arg)
		query += fmt.Sprintf(text, len(args))
	}
	if like.Of != "" {
		add(" and of_what = $%d", like.Of)
	}
	if like.Task != 0 {
		add(" and task_id = $%d", like.Task)
	}
	if query += factOrder; limit > 0 {
		add(" limit $%d", int64(limit))
	}
	return list(ctx, s, func(rows Rows) (f task.Fact, err error) {
		return f, rows.Scan((*string)(&f.Kind), &f.Of, &f.Task, &f.Text, &f.Since)
	}, query, args...)
}

func (t *Tx) saveFacts(c *task.Commit) {
	for _, f := range c.Over {
		t.Queue(nil, dropFact, string(f.Kind), f.Of, f.Task)
	}
	for _, f := range c.Facts {
		t.Queue(nil, saveFact, string(f.Kind), f.Of, f.Task, f.Text, t.Now)
	}
}
