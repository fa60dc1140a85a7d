package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// receiving is a delivery with the job that it makes.
type receiving struct {
	delivery  orchestrator.Delivery
	job       queue.Job
	duplicate bool
}

// Receive implements orchestrator.Store.
func (d *DB) Receive(ctx context.Context, v orchestrator.Delivery, job queue.Job) (duplicate bool, err error) {
	v.Source, v.ID, v.BodyHash = text(v.Source), text(v.ID), text(v.BodyHash)
	r := &request{ctx: ctx, receive: &receiving{delivery: v, job: job}}
	err = d.write(r)
	return err == nil && r.receive.duplicate, err
}

// receiveAll records the deliveries that are new and returns their jobs.
func (t *tx) receiveAll(batch []*request) (jobs []queue.Job, err error) {
	var all []*receiving
	for _, r := range batch {
		if r.receive != nil {
			all = append(all, r.receive)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := t.known(all); err != nil {
		return nil, err
	}
	var fresh []orchestrator.Delivery
	seen := map[[3]string]bool{}
	for _, r := range all {
		v := r.delivery
		id, body := [3]string{"id", v.Source, v.ID}, [3]string{"body", v.Source, v.BodyHash}
		if r.duplicate = r.duplicate || v.ID != "" && seen[id] || seen[body]; r.duplicate {
			continue
		}
		seen[id], seen[body] = true, true
		fresh, jobs = append(fresh, v), append(jobs, r.job)
	}
	t.record(fresh)
	return jobs, nil
}

// known marks the deliveries that have come before.
func (t *tx) known(all []*receiving) error {
	sources, ids, hashes := make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	for i, r := range all {
		r.duplicate = false
		sources[i], ids[i], hashes[i] = r.delivery.Source, r.delivery.ID, r.delivery.BodyHash
	}
	// Lateral, so that each is looked up: as "exists" the planner would read them all.
	found, err := rows(t, pgx.RowTo[int64], `with u as materialized (select * from unnest($1::text[], $2::text[], $3::text[]) with ordinality u(source, id, hash, i))
		select i from u cross join lateral (select from ~deliveries d where d.source = u.source and d.delivery_id = u.id and d.delivery_id <> '' limit 1) f
		union select i from u cross join lateral (select from ~deliveries d where d.source = u.source and d.body_hash = u.hash limit 1) f`, sources, ids, hashes)
	for _, i := range found {
		all[i-1].duplicate = true
	}
	return err
}

func (t *tx) record(fresh []orchestrator.Delivery) {
	n := len(fresh)
	if n == 0 {
		return
	}
	sources, ids, hashes, events, outcomes, at := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]time.Time, n)
	for i, v := range fresh {
		sources[i], ids[i], hashes[i], events[i], outcomes[i], at[i] = v.Source, v.ID, v.BodyHash, v.Event, v.Outcome, v.ReceivedAt.UTC()
	}
	t.exec(`insert into ~deliveries (source, delivery_id, body_hash, event, received_at, outcome)
		select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])`, sources, ids, hashes, events, at, outcomes)
}

// LastDelivery implements orchestrator.Story.
func (d *DB) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	last, err := list(ctx, d, pgx.RowTo[time.Time], "select received_at from ~deliveries where source = $1 order by received_at desc limit 1", source)
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0].UTC(), nil
}
