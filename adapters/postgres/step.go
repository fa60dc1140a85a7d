package postgres

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// ending is a claim that ends for good. It is known to be held.
type ending struct {
	id, attempt            int64
	pool, key, status, err string
	started                time.Time
}

// group are claims that one statement makes: of one pool, for one worker, for one
// time to live. The n-th job goes to the n-th slot.
type group struct {
	pool, worker string
	ttl          time.Duration
	first        int // its first slot in tx.slots
	n            int
	parked       int      // tokens that were found to be held
	from         token    // where it begins to look
	known        [2]int64 // the ids of which every unfinished job is remembered, from and to
	relayed      bool     // by ~relay, which tells of a job where it tells of the claim

	// The answer: the jobs that were claimed and their attempts, by slot; those of them that
	// are not known; and tokens that are gone. None is left before these.
	ids, attempts []int64
	jobs          map[int64]queue.Job
	gone          []token
}

// step ends claims and makes others, and hands what comes next of a key straight
// to whoever takes: the one statement that most transactions consist of. The last
// one may be a whole transaction.
func (t *tx) step(g *group, last bool) {
	n := len(t.ends)
	if n == 0 && g.n == 0 {
		return
	}
	slices.SortFunc(t.ends, func(a, b ending) int { return cmp.Compare(a.id, b.id) })
	ids, attempts, keys, statuses, errs, started := make([]int64, n), make([]int64, n), make([]string, n), make([]string, n), make([]string, n), make([]*time.Time, n)
	ending := int64(0) // jobs of the pool: they count as running until the statement is done
	chain := false     // a job may come next of a key
	ended := t.ends
	for i, e := range ended {
		chain = chain || e.key != "" && t.memory.newest[e.key] != e.id
		if e.pool == g.pool {
			ending++
		}
		t.memory.released(e.id)
		ids[i], attempts[i], keys[i], statuses[i], errs[i], started[i] = e.id, e.attempt, e.key, e.status, e.err, when(e.started)
		t.count(e.pool, -1)
		t.memory.drop(e.id)
	}
	t.ends = nil
	clear(t.unnamed)
	g.from = firstToken
	if !t.unsure {
		g.from = t.memory.floor(g.pool)
	}
	g.known = [2]int64{t.memory.first, t.memory.last}
	t.askHeld()
	pools, added := t.deltas()
	room, bound := t.db.bound(g.pool, g.n, ending)
	if last && !bound && n <= 1 && t.relays(g) {
		t.relay(g, ended, chain)
		return
	}
	// Everything here was cleaned when it was put.
	args := []any{
		t.now, t.memory.hold, ids, attempts, keys, statuses, errs, started, pools, added, g.pool, int64(g.n), room, g.from.priority, g.from.job,
		g.worker, t.now.Add(g.ttl), t.db.me, t.seq, int64(g.first), g.known[0], g.known[1],
	}
	query := t.stepText(stepKind{bound: bound, chain: chain}, last)
	t.batch.Queue(query, args...).Query(func(rows pgx.Rows) error { return t.stepped(rows, g) })
	t.unsure = t.unsure || chain // tokens that come next are told of with the answers
}

// stepKind is what a text of step can do: jobs may be held, it is a whole
// transaction, the pool has a bound, a job may come next of a key.
type stepKind struct{ holds, whole, bound, chain bool }

func (d *DB) allStepTexts() map[stepKind]string {
	texts := map[stepKind]string{}
	for i := range 16 {
		k := stepKind{i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0}
		texts[k] = d.q(stepQuery(k))
	}
	return texts
}

// stepText opens the transaction, or chooses a text that does it all.
func (t *tx) stepText(k stepKind, last bool) string {
	k.holds, k.whole = t.memory.hold != none, last && t.closed && len(t.memory.spent) < spentMax
	if k.whole {
		t.closed, t.whole = false, true
	}
	t.open()
	return t.db.steps[k]
}

// stepQuery: u are the claims that end, pair their rows and those that come next of
// their keys, first the first tokens of the pool, c those of next and first that can
// be taken, in order. With holds, tokens may turn out to be held; without, nothing is.
// $13 is how many jobs of the pool may run, or as many as are asked for ($12) where it
// has no bound. A whole transaction takes the turn as numberQuery does, before it changes anything:
// u waits for it.
func stepQuery(k stepKind) string {
	head, from := "with", ""
	// checked comes first: nothing is read or changed before it.
	const all = "(select count(*) from ended) <> cardinality($3::bigint[])"
	checked := "from (select) own where " + all
	if k.whole {
		head = `with turn as materialized (select last from ~turn for no key update
			), mine as (insert into ~writers as w (writer, seq, at) select $18::uuid, $19::bigint, now() from turn
				on conflict (writer) do update set seq = excluded.seq / (excluded.seq > w.seq)::int, at = excluded.at
			), own as materialized (select case when last is distinct from $18::uuid then ~stale() end as ok from turn
			),`
		from = "own cross join "
		checked = "from own where ok is not null or " + all
	}
	var isHeld, parked, parkedRows, parkedNext string
	nextHeld, firstHeld := "null::text", "null::text"
	const due = "(available_at is null or available_at <= $1)"
	if k.chain {
		parkedNext = "union all select held, job_id, key from next where held is not null and " + due
	}
	if k.holds {
		isHeld = " and held is null"
		nextHeld = heldSubject
		firstHeld = `case when $2::bigint < 0 or r.checked < $2::bigint then
			(select s from ~jobs j cross join unnest(j.holds) s where j.id = r.job_id and exists (select from ~holds h where h.subject = s) order by s limit 1) end`
		parked = `), parked as (
			insert into ~parked (subject, job_id, key) select f.held, f.job_id, j.key from first f join ~jobs j on j.id = f.job_id where f.held is not null
			` + parkedNext + `
		`
		parkedRows = "union all select " + parkedKind + ", null, priority, job_id, null, null, null, " + noJobFields + " from first where held is not null"
	}
	room, roomQuery := "$13::bigint", ""
	if k.bound {
		room = "(select n from room)"
		roomQuery = `), room as materialized (select greatest(0, least($12::bigint, $13::bigint - (select count(*) from ~running where pool = $11))) as n
		`
	}
	gap := `), gap as (delete from ~open_jobs o using u where o.key = u.k and o.job_id = u.i
		`
	var next, fromNext, places, placedRows string
	if k.chain {
		gap = `), pair as materialized (select u.i, p.* from u cross join lateral (
			select o.ctid as at, o.* from ~open_jobs o where o.key = u.k and o.job_id >= u.i order by o.job_id limit 2) p
		), gap as (delete from ~open_jobs where ctid = any(array(select at from pair where job_id = i))
		`
		next = `), next as materialized (select n.*, ` + nextHeld + ` as held from pair n where job_id > i and key <> ''
		`
		fromNext = "union all select null, priority, job_id, attempt from next where pool = $11 and " + due + isHeld
		places = `), later as (
			insert into ~delayed (available_at, job_id, key) select available_at, job_id, key from next where available_at > $1 returning available_at
		), token as (
			insert into ~ready (pool, priority, job_id, attempt, checked)
			select $11::text, priority, job_id, attempt, ` + upToNow + ` from c where at is null and n > ` + room + `
			union all select pool, priority, job_id, attempt, ` + upToNow + ` from next where pool <> $11 and ` + due + isHeld + `
			returning pool, priority, job_id
		`
		placedRows = `union all select ` + tokenKind + `, pool, priority, min(job_id), null, null, null, ` + noJobFields + ` from token group by pool, priority
		union all select ` + laterKind + `, null, null, null, min(available_at), null, null, ` + noJobFields + ` from later having count(*) > 0`
	}
	return head + ` u as materialized (select u.* from ` + from + `unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[]) u(i, a, k, s, e, b)
		), ended as (update ~jobs j set status = u.s, attempt = u.a, started_at = u.b, finished_at = $1::timestamptz, error = u.e from u
			where j.id = u.i and j.attempt = u.a - 1 and j.status = 'queued' returning $2::bigint
		` + gap + `), counted as (insert into ~depth (pool, n) select * from unnest($9::text[], $10::bigint[])` + addDepth + `
		` + roomQuery + next + `), first as materialized (
			select r.ctid as at, r.priority, r.job_id, r.attempt, ` + firstHeld + ` as held from ~ready r
			where r.pool = $11 and (r.priority, r.job_id) >= ($14::bigint, $15::bigint) order by r.priority, r.job_id limit least($12::bigint, ` + room + `)
		), c as materialized (
			select *, row_number() over (order by priority, job_id) as n from (
				select at, priority, job_id, attempt from first where true` + isHeld + `
				` + fromNext + `) q
		), taken as (delete from ~ready where ctid = any(array(
			select at from c where at is not null and n <= ` + room + ` union all select at from first where held is not null))
		), ran as (
			insert into ~claims (writer, seq, slot, pool, worker, heartbeat_at, lease_until, ids, attempts, started)
			select $18::uuid, $19::bigint, $20::bigint, $11::text, $16::text, $1, $17::timestamptz, array_agg(job_id), array_agg(attempt + 1), array_fill($1::timestamptz, array[count(*)::int])
				from (select job_id, attempt from c where n <= ` + room + ` order by n) q having count(*) > 0 returning ids, attempts
		` + parked + places + `)
		select ` + checkKind + ` as what, null::text as pool, ~stale() as priority, null::bigint as job_id, null::timestamptz as at, null::bigint[] as ids, null::bigint[] as attempts,
			` + noJobFields + ` ` + checked + `
		union all select ` + claimsKind + `, null, l.priority, l.job_id, null, ran.ids, ran.attempts, ` + noJobFields + `
			from ran left join lateral (select priority, job_id from c where at is not null and n <= ` + room + ` order by n desc limit 1) l on true
		union all select ` + jobKind + `, null, c.priority, c.job_id, null, null, null, ` + jobFields + `
			from c join ~jobs j on j.id = c.job_id where c.n <= ` + room + ` and c.job_id not between $21::bigint and $22::bigint
		` + parkedRows + `
		` + placedRows
}

// heldSubject is a subject of n.holds that is held. $2 is the newest hold, 0 when
// there is none, less when it is not known; upToNow is what it makes of a token. It looks
// each subject up: asked for the first of "any", the server reads through all that is held.
const (
	upToNow     = "greatest($2::bigint, 0)"
	heldSubject = `case when $2::bigint <> 0 then (select s from unnest(n.holds) s where exists (select from ~holds h where h.subject = s) order by s limit 1) end`
)

// The kinds of rows that statements tell about places.
const (
	claimsKind = "0" // the claims, and the last of their tokens
	parkedKind = "1" // a token that was parked
	tokenKind  = "2" // the first new token of a pool and priority
	laterKind  = "3" // the earliest time of a job that is put off
	checkKind  = "4" // never: a claim that was remembered is not there
	jobKind    = "5" // a job that was claimed and is not known
)

const jobFields = `j.kind, j.key, j.task_id, j.lane, j.role, j.holds, j.payload, j.available_at, j.max_attempts, j.dedupe_key, j.created_at, j.error`

const noJobFields = `null::text, null::text, null::bigint, null::text, null::text, null::text[], null::bytea, null::timestamptz, null::bigint, null::text, null::timestamptz, null::text`

// stepped reads the answer to a step. Claims are handed out later: see handOut.
func (t *tx) stepped(rows pgx.Rows, g *group) error {
	short := make([]any, 19) // nil where a column is passed over
	for rows.Next() {
		var what int64
		var pool *string
		var priority, job *int64
		var due *time.Time
		var ids, attempts []int64
		copy(short, []any{&what, &pool, &priority, &job, &due, &ids, &attempts})
		if err := rows.Scan(short...); err != nil {
			return err
		}
		var at token
		if priority != nil && job != nil {
			at = token{*priority, *job}
		}
		switch strconv.FormatInt(what, 10) {
		case claimsKind:
			if g.ids, g.attempts = ids, attempts; job != nil {
				g.gone = append(g.gone, at)
			}
			if g.relayed && !g.knows(at.job) {
				if err := g.told(rows, at); err != nil {
					return err
				}
			}
		case parkedKind:
			g.parked++
			g.gone = append(g.gone, at)
		case jobKind:
			if err := g.told(rows, at); err != nil {
				return err
			}
		default:
			t.tell(func() { t.placed(pool, at, due) })
		}
	}
	return rows.Err()
}

// handOut gives the claims of a committed transaction to those who asked for them,
// and remembers them with what else was told.
func (t *tx) handOut() error {
	t.takeOver()
	for _, g := range t.groups {
		for _, at := range g.gone {
			t.passed(g, at)
		}
		for slot, id := range g.ids {
			j, told := g.jobs[id]
			if !told {
				k, ok := t.memory.jobs[id]
				if !ok {
					return errors.New("postgres: a job was claimed that is not remembered as it should be: its claim runs out")
				}
				j = k.job(id, true)
			}
			j.Status, j.Attempt, j.Worker = queue.Running, int(g.attempts[slot]), g.worker
			j.StartedAt, j.HeartbeatAt, j.LeaseUntil = t.now, t.now, t.now.Add(g.ttl)
			t.memory.claim(j)
			t.memory.claimedBy(j.ID, batch{t.seq, int64(g.first)})
			to := t.slots[g.first+slot]
			to.claims = append(to.claims, queue.Claim{Job: j})
		}
	}
	return nil
}

// passed raises the floor: the tokens of a pool are taken in their order. One that
// was lowered while this transaction was on its way is left where it is.
func (t *tx) passed(g *group, at token) {
	if floor := t.memory.floor(g.pool); floor.before(at) && !floor.before(g.from) {
		t.memory.floors[g.pool] = at
	}
}

// knows reports whether an unfinished job was remembered when the statement was made.
func (g *group) knows(id int64) bool { return g.known[0] <= id && id <= g.known[1] }

// told reads the job of a row that tells of it.
func (g *group) told(rows pgx.Rows, at token) error {
	j := queue.Job{ID: at.job, Pool: g.pool, Priority: int(at.priority)}
	stored := make([]*time.Time, 2)
	err := rows.Scan(nil, nil, nil, nil, nil, nil, nil, &j.Kind, &j.Key, &j.TaskID, &j.Lane, &j.Role, &j.Holds, &j.Payload,
		&stored[0], &j.MaxAttempts, &j.DedupeKey, &stored[1], &j.Error)
	times(stored, &j.AvailableAt, &j.CreatedAt)
	if len(j.Holds) == 0 {
		j.Holds = nil
	}
	if g.jobs == nil {
		g.jobs = map[int64]queue.Job{}
	}
	g.jobs[j.ID] = j
	return err
}
