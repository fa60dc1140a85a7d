package sqlite

import (
	"context"

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
	r := &request{ctx: ctx, receive: &receiving{delivery: v, job: job}}
	err = d.hand(r)
	return err == nil && r.receive.duplicate, err
}

// receiveAll records the deliveries that are new and puts their jobs.
func (t *tx) receiveAll(batch []*request) error {
	var jobs []queue.Job
	for _, r := range batch {
		if r.receive == nil {
			continue
		}
		v := r.receive.delivery
		known, err := t.known(v)
		if err != nil {
			return err
		}
		if r.receive.duplicate = known; known {
			continue
		}
		err = t.exec("insert into deliveries (source, delivery_id, body_hash, event, received_at, outcome) values (?, ?, ?, ?, ?, ?)",
			v.Source, v.ID, v.BodyHash, v.Event, micros(v.ReceivedAt), v.Outcome)
		if err != nil {
			return err
		}
		jobs = append(jobs, r.receive.job)
	}
	_, err := t.put(jobs)
	return err
}

// known reports whether a delivery has come before. Two questions, each with an
// index of its own: asked as one, SQLite would read all of the sender's.
func (t *tx) known(v orchestrator.Delivery) (bool, error) {
	var id int64
	if v.ID != "" {
		known, err := t.one([]any{&id}, "select id from deliveries where source = ? and delivery_id = ? and delivery_id <> ''", v.Source, v.ID)
		if err != nil || known {
			return known, err
		}
	}
	return t.one([]any{&id}, "select id from deliveries where source = ? and body_hash = ? limit 1", v.Source, v.BodyHash)
}
