package postgres

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// kept is a job as it is remembered: small, and with two pointers, because there
// may be very many and the collector looks at each.
type kept struct {
	texts  string // what the job says, one behind the other
	worker string

	task, priority, maxAttempts, attempt            int64
	available, created, started, heartbeat, leaseTo int64 // microseconds
	running                                         bool
}

// pack makes a job small.
func pack(j queue.Job) kept {
	said := [...]string{j.Pool, j.Key, j.DedupeKey, j.Kind, j.Lane, j.Role, j.Error}
	size := 2 * (len(said) + len(j.Holds)) // long ones let it grow
	for _, s := range said {
		size += len(s)
	}
	for _, s := range j.Holds {
		size += len(s)
	}
	b := make([]byte, 0, size+len(j.Payload)+2)
	for _, s := range said {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendUvarint(b, uint64(len(j.Holds)))
	for _, s := range j.Holds {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	k := kept{texts: string(append(b, j.Payload...)), task: j.TaskID, priority: int64(j.Priority), maxAttempts: int64(j.MaxAttempts)}
	k.available, k.created = micros(j.AvailableAt), micros(j.CreatedAt)
	k.runs(j)
	return k
}

// runs notes what a claim changes.
func (k *kept) runs(j queue.Job) {
	k.worker, k.attempt, k.running = j.Worker, int64(j.Attempt), j.Status == queue.Running
	k.started, k.heartbeat, k.leaseTo = micros(j.StartedAt), micros(j.HeartbeatAt), micros(j.LeaseUntil)
}

// job is the job that was packed, whole or without its holds and payload.
func (k *kept) job(id int64, whole bool) queue.Job {
	rest := k.texts
	j := queue.Job{ID: id, TaskID: k.task, Priority: int(k.priority), MaxAttempts: int(k.maxAttempts), Attempt: int(k.attempt), Worker: k.worker, Status: queue.Queued}
	for _, s := range [...]*string{&j.Pool, &j.Key, &j.DedupeKey, &j.Kind, &j.Lane, &j.Role, &j.Error} {
		*s, rest = nextText(rest)
	}
	j.AvailableAt, j.CreatedAt, j.StartedAt = moment(k.available), moment(k.created), moment(k.started)
	j.HeartbeatAt, j.LeaseUntil = moment(k.heartbeat), moment(k.leaseTo)
	if k.running {
		j.Status = queue.Running
	}
	if whole {
		j.Holds, j.Payload = holdsAndPayload(rest)
	}
	return j
}

func holdsAndPayload(rest string) (holds []string, payload []byte) {
	n, rest := nextNumber(rest)
	if n > 0 {
		holds = make([]string, n)
		for i := range holds {
			holds[i], rest = nextText(rest)
		}
	}
	if rest != "" {
		payload = []byte(rest)
	}
	return holds, payload
}

// names are the key and the dedupe key.
func (k *kept) names() (key, dedupe string) {
	_, rest := nextText(k.texts)
	key, rest = nextText(rest)
	dedupe, _ = nextText(rest)
	return key, dedupe
}

func nextNumber(s string) (n int, rest string) {
	for i, shift := 0, 0; i < len(s); i, shift = i+1, shift+7 {
		if n |= int(s[i]&0x7f) << shift; s[i] < 0x80 {
			return n, s[i+1:]
		}
	}
	return 0, ""
}

func nextText(s string) (text, rest string) {
	n, s := nextNumber(s)
	return s[:n], s[n:]
}

// never is what micros makes of no time.
const never = math.MinInt64

func micros(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == never {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
