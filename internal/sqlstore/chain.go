package sqlstore

import (
	"context"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	// readHead and saveHead keep the hash of the newest entry of the journal: one row, which
	// finds that the newest entries were removed.
	readHead = "select hash from ~journal_head where name = 'journal'"
	saveHead = "insert into ~journal_head (name, hash) values ('journal', $1) on conflict (name) do update set hash = excluded.hash"

	journalLinks = "select id, task_id, seq, at, kind, payload, link from ~journal where id > $1 order by id limit $2"
)

// intoHead reads the head, where there is one.
func intoHead(into *[]byte) func(Rows) error {
	return each(scanOne[[]byte], func(head []byte) { *into = head })
}

// link chains entries behind a head: each is kept with the hash before it and its own. Whoever
// writes holds the writer lock, so that one chain for the database is in the order of ids.
func (t *Tx) link(list []task.JournalEntry, head []byte) [][]byte {
	out := make([][]byte, len(list))
	for i, e := range list {
		hash := task.NextHash(head, kept(e))
		out[i] = append(append(make([]byte, 0, 2*task.LinkSize), head...), hash...)
		head = hash
	}
	t.Queue(nil, saveHead, head)
	return out
}

// kept is an entry as it is read back.
func kept(e task.JournalEntry) task.JournalEntry {
	e.At, e.Kind = Stamp(e.At), Clean(e.Kind)
	return e
}

func (s *Store) Links(ctx context.Context, after int64, limit int) ([]task.Link, error) {
	return list(ctx, s, func(rows Rows) (l task.Link, err error) {
		e, link := &l.Entry, []byte{}
		if err = rows.Scan(&e.ID, &e.TaskID, &e.Seq, &e.At, &e.Kind, &e.Payload, &link); err != nil || len(link) == 0 {
			return l, err
		}
		l.Prev, l.Hash = link[:max(len(link)-task.LinkSize, 0)], link[max(len(link)-task.LinkSize, 0):]
		return l, nil
	}, journalLinks, after, int64(limit))
}

func (s *Store) Head(ctx context.Context) ([]byte, error) {
	heads, err := list(ctx, s, scanOne[[]byte], readHead)
	return append(heads, nil)[0], err
}

var _ task.Chain = (*Store)(nil)
