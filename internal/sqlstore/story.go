package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	// appendJournal adds what happened, in order.
	appendJournal = `insert into ~journal (task_id, seq, at, kind, payload, link)
		select * from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::bytea[],
			$6::bytea[]) u(task_id, seq, at, kind, payload, link)`

	// appendGates adds verdicts.
	appendGates = `insert into ~gate_results (task_id, stage, "check", verdict, reason, sha, tree, at) select * from
		unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::timestamptz[]) u(task_id, stage, checked, verdict, reason, sha, tree, at)`

	journalColumns = "select id, task_id, seq, at, kind, payload from ~journal "
	journalOfTask  = journalColumns + "where task_id = $1 order by id"
	journalNewest  = journalColumns + "order by id desc limit 1"
	journalSince   = journalColumns + "where id > $1 order by id limit $2"
	gatesOfTask    = "select id, task_id, stage, tree, at from ~gate_results where task_id = $1 order by id"

	// journalBefore and taskJournalBefore read backwards from an entry.
	journalBefore     = journalColumns + "where id < $1 order by id desc limit $2"
	taskJournalBefore = journalColumns + "where task_id = $3 and id < $1 order by id desc limit $2"

	// decisionsAt looks once for each task, so that a long journal is not read.
	decisionsAt = journalColumns + `where id in (
		select (select max(j.id) from ~journal j where j.task_id = t.id and j.id <= $1 and j.kind = 'decision')
		from ~tasks t) order by task_id`

	endedTasks = "select " + taskColumns + " from ~tasks where ended_at is not null and ended_at >= $1 " +
		"order by ended_at desc, id desc limit $2"

	// saveDeliveries adds deliveries that are new.
	saveDeliveries = `insert into ~deliveries (source, delivery_id, body_hash, event, received_at, outcome)
		select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[],
			$6::text[]) u(source, delivery_id, body_hash, event, received_at, outcome)`

	// knownDeliveries finds those that have come before: by their id, or by their body.
	knownDeliveries = `select u.i from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) u(i, source, id, hash)
		where (select true from ~deliveries d where d.source = u.source and d.delivery_id = u.id and d.delivery_id <> '' limit 1)
			or (select true from ~deliveries d where d.source = u.source and d.body_hash = u.hash limit 1)`

	// saveContent keeps one that is not kept yet.
	saveContent = "insert into ~contents (id, body) values ($1, $2) on conflict (id) do nothing"
	contentOf   = "select body from ~contents where id = $1"

	lastDelivery = "select received_at from ~deliveries where source = $1 order by received_at desc limit 1"
)

// saveStory appends what happened, behind the head of the journal's chain.
func (t *Tx) saveStory(c *task.Commit, head []byte) {
	if e := c.Journal; len(e) > 0 {
		links := t.link(e, head)
		t.Queue(nil, appendJournal, columns(len(e), func(i int) []any {
			return []any{e[i].TaskID, e[i].Seq, e[i].At, e[i].Kind, append([]byte{}, e[i].Payload...), links[i]}
		})...)
	}
	if len(c.Gates) > 0 {
		t.Queue(nil, appendGates, columns(len(c.Gates), func(i int) []any {
			g, v := c.Gates[i], c.Gates[i].Verdict
			return []any{g.TaskID, string(g.Stage), v.Check, v.Outcome.String(), v.Reason, v.SHA, encode(v), g.At}
		})...)
	}
	for i := range c.Runs {
		t.saveRun(&c.Runs[i])
	}
}

func scanEntry(rows Rows) (e task.JournalEntry, err error) {
	return e, rows.Scan(&e.ID, &e.TaskID, &e.Seq, &e.At, &e.Kind, &e.Payload)
}

func (s *Store) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	return list(ctx, s, scanEntry, journalOfTask, taskID)
}

func (s *Store) JournalSince(ctx context.Context, after int64, limit int) ([]task.JournalEntry, error) {
	if after < 0 {
		return list(ctx, s, scanEntry, journalNewest)
	}
	return list(ctx, s, scanEntry, journalSince, after, int64(limit))
}

func (s *Store) JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]task.JournalEntry, error) {
	before = cmp.Or(before, 1<<63-1)
	if taskID == 0 {
		return list(ctx, s, scanEntry, journalBefore, before, int64(limit))
	}
	return list(ctx, s, scanEntry, taskJournalBefore, before, int64(limit), taskID)
}

func (s *Store) DecisionsAt(ctx context.Context, id int64) ([]task.JournalEntry, error) {
	return list(ctx, s, scanEntry, decisionsAt, id)
}

func (s *Store) Ended(ctx context.Context, since time.Time, limit int) ([]task.Task, error) {
	if since.IsZero() { // which stores keep as null
		since = time.Unix(0, 0)
	}
	return list(ctx, s, scanTask, endedTasks, since, int64(limit))
}

func (s *Store) GateResults(ctx context.Context, taskID int64) ([]task.GateResult, error) {
	return list(ctx, s, func(rows Rows) (g task.GateResult, err error) {
		var tree []byte
		if err = rows.Scan(&g.ID, &g.TaskID, (*string)(&g.Stage), &tree, &g.At); err != nil {
			return g, err
		}
		return g, json.Unmarshal(tree, &g.Verdict)
	}, gatesOfTask, taskID)
}

// loadDuplicates finds the deliveries that are known, or are there twice.
func (t *Tx) loadDuplicates(l *loaded, received []*request) {
	if len(received) == 0 {
		return
	}
	seen := map[[3]string]bool{}
	for _, r := range received {
		d := r.receive.delivery
		id, body := [3]string{"id", d.Source, d.ID}, [3]string{"body", d.Source, d.BodyHash}
		l.duplicates[r] = d.ID != "" && seen[id] || seen[body]
		seen[id], seen[body] = true, true
	}
	known := each(scanOne[int64], func(i int64) { l.duplicates[received[i]] = true })
	t.Queue(known, knownDeliveries, columns(len(received), func(i int) []any {
		d := received[i].receive.delivery
		return []any{int64(i), d.Source, d.ID, d.BodyHash}
	})...)
}

func (t *Tx) saveDeliveries(d []task.Delivery) {
	if len(d) == 0 {
		return
	}
	t.Queue(nil, saveDeliveries, columns(len(d), func(i int) []any {
		return []any{d[i].Source, d[i].ID, d[i].BodyHash, d[i].Event, d[i].ReceivedAt, d[i].Outcome}
	})...)
}

func (s *Store) Content(ctx context.Context, id string) ([]byte, error) {
	packed, err := list(ctx, s, scanOne[[]byte], contentOf, id)
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 {
		return nil, task.ErrNotFound
	}
	return task.Unpack(packed[0])
}

func (s *Store) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	last, err := list(ctx, s, scanOne[time.Time], lastDelivery, source)
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0], nil
}
