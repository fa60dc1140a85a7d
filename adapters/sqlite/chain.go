package sqlite

import "database/sql"

// chain is what is remembered of the order of unfinished jobs within their keys.
type chain struct {
	last map[string]int64 // the last job of a key
	next map[int64]int64  // the one that comes behind a job
}

// chainMax bounds both maps.
const chainMax = 200_000

func newChain() chain { return chain{last: map[string]int64{}, next: map[int64]int64{}} }

// append puts a new job behind the others of its key.
func (c *chain) append(key string, id int64) {
	if len(c.last) >= chainMax || len(c.next) >= chainMax {
		*c = newChain()
	}
	if last, known := c.last[key]; known {
		c.next[last] = id
	}
	c.last[key] = id
}

// end takes the first job out of its key and returns the one that is first now, 0
// for none; known is false when the file must be asked.
func (c *chain) end(key string, id int64) (next int64, known bool) {
	if next, known = c.next[id]; known {
		delete(c.next, id)
		return next, true
	}
	if known = c.last[key] == id; known {
		delete(c.last, key)
	}
	return 0, known
}

// firsts are the first unfinished jobs of ordering keys, where there are any.
func (t *tx) firsts(keys []string) (map[string]int64, error) {
	out := make(map[string]int64, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	s, err := t.stmt(firstQuery)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, encode(keys))
	_, err = collect(rows, err, func(r *sql.Rows) (struct{}, error) {
		var key string
		var id sql.NullInt64
		err := r.Scan(&key, &id)
		if id.Valid {
			out[key] = id.Int64
		}
		return struct{}{}, err
	})
	return out, err
}

const firstQuery = "select value, (select job_id from open_jobs where key = value and key <> '' order by job_id limit 1) from json_each(?)"
