package sqlstore

import (
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
		type entry = task.JournalEntry
		t.Queue(nil, appendJournal,
			column(e, func(e *entry) int64 { return e.TaskID }),
			column(e, func(e *entry) int64 { return e.Seq }),
			column(e, func(e *entry) time.Time { return e.At }),
			column(e, func(e *entry) string { return e.Kind }),
			column(e, func(e *entry) []byte { return append([]byte{}, e.Payload...) }),
			links)
	}
	if g := c.Gates; len(g) > 0 {
		type result = task.GateResult
		t.Queue(nil, appendGates,
			column(g, func(g *result) int64 { return g.TaskID }),
			column(g, func(g *result) string { return string(g.Stage) }),
			column(g, func(g *result) string { return g.Verdict.Check }),
			column(g, func(g *result) string { return g.Verdict.Outcome.String() }),
			column(g, func(g *result) string { return g.Verdict.Reason }),
			column(g, func(g *result) string { return g.Verdict.SHA }),
			column(g, func(g *result) string { return encode(g.Verdict) }),
			column(g, func(g *result) time.Time { return g.At }))
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
	if before == 0 {
		before = 1<<63 - 1
	}
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
	numbers := make([]int64, len(received))
	for i, r := range received {
		d := r.receive.delivery
		id, body := [3]string{"id", d.Source, d.ID}, [3]string{"body", d.Source, d.BodyHash}
		l.duplicates[r] = d.ID != "" && seen[id] || seen[body]
		seen[id], seen[body], numbers[i] = true, true, int64(i)
	}
	t.Queue(func(rows Rows) error {
		for rows.Next() {
			var i int64
			if err := rows.Scan(&i); err != nil {
				return err
			}
			l.duplicates[received[i]] = true
		}
		return nil
	}, knownDeliveries, numbers,
		column(received, func(r **request) string { return (*r).receive.delivery.Source }),
		column(received, func(r **request) string { return (*r).receive.delivery.ID }),
		column(received, func(r **request) string { return (*r).receive.delivery.BodyHash }))
}

func (t *Tx) saveDeliveries(d []task.Delivery) {
	if len(d) == 0 {
		return
	}
	type delivery = task.Delivery
	t.Queue(nil, saveDeliveries,
		column(d, func(d *delivery) string { return d.Source }),
		column(d, func(d *delivery) string { return d.ID }),
		column(d, func(d *delivery) string { return d.BodyHash }),
		column(d, func(d *delivery) string { return d.Event }),
		column(d, func(d *delivery) time.Time { return d.ReceivedAt }),
		column(d, func(d *delivery) string { return d.Outcome }))
}

func (t *Tx) saveContents(list []task.Content) {
	for _, c := range list {
		t.Queue(nil, saveContent, c.ID, task.Pack(c.Body))
	}
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
