package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/queue"
)

// A job that is remembered is the job that was stored, in every field.
func TestKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringN(100, 300, -1))
		at := rapid.Custom(func(t *rapid.T) time.Time {
			if rapid.Bool().Draw(t, "none") {
				return time.Time{}
			}
			return time.UnixMicro(rapid.Int64Range(-1e15, 1e16).Draw(t, "at")).UTC()
		})
		number := rapid.Int()
		in := queue.Job{
			Pool: text.Draw(t, "pool"), Kind: text.Draw(t, "kind"), Key: text.Draw(t, "key"), Lane: text.Draw(t, "lane"), Role: text.Draw(t, "role"),
			DedupeKey: text.Draw(t, "dedupe"), Worker: text.Draw(t, "worker"), Error: text.Draw(t, "error"),
			Holds: rapid.SliceOf(text).Draw(t, "holds"), Payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
			ID: int64(number.Draw(t, "id")), TaskID: int64(number.Draw(t, "task")), Priority: number.Draw(t, "priority"),
			MaxAttempts: number.Draw(t, "most"), Attempt: number.Draw(t, "attempt"), Status: rapid.SampledFrom([]queue.Status{queue.Queued, queue.Running}).Draw(t, "status"),
			AvailableAt: at.Draw(t, "available"), CreatedAt: at.Draw(t, "created"), StartedAt: at.Draw(t, "started"),
			HeartbeatAt: at.Draw(t, "heartbeat"), LeaseUntil: at.Draw(t, "lease"),
		}
		if len(in.Holds) == 0 {
			in.Holds = nil
		}
		if len(in.Payload) == 0 {
			in.Payload = nil
		}
		k := pack(in)
		require.Equal(t, in, k.job(in.ID, true))
		key, _ := k.names()
		require.Equal(t, in.Key, key)
		in.Holds, in.Payload = nil, nil
		require.Equal(t, in, k.job(in.ID, false))
	})
}
