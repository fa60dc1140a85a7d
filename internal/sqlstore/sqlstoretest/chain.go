package sqlstoretest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Chained is a store whose journal is a chain.
type Chained interface {
	task.Store
	task.Chain
}

// Chain writes a journal and tampers with it. open gives an empty store, a second handle on it, and
// what changes its tables past it, with ~ before their names.
func Chain(t *testing.T, open func(*testing.T) (first, second Chained, tamper func(query string))) {
	write := func(s Chained, from, to int) {
		for i := from; i <= to; i++ {
			at := Begun().Add(time.Duration(i) * time.Nanosecond)
			payload := []byte(fmt.Sprintf(`{"n":%d}`, i))
			entries := []task.JournalEntry{{TaskID: int64(i), Seq: 1, At: at, Kind: "a", Payload: payload}}
			if i%3 == 0 { // a commit with several, one of them without a time and with an odd kind
				entries = append(entries, task.JournalEntry{TaskID: int64(i), Kind: "b\x00", Payload: []byte("{}")})
			}
			require.NoError(t, s.Commit(context.Background(), task.Commit{Journal: entries}))
		}
	}
	for name, c := range map[string]struct {
		do   []string
		want []string
	}{
		"nothing":            {nil, nil},
		"a changed payload":  {[]string{`update ~journal set payload = '{"n":9}' where id = 3`}, []string{"entry 3 was changed"}},
		"a changed task":     {[]string{`update ~journal set task_id = 7 where id = 5`}, []string{"entry 5 was changed"}},
		"a changed kind":     {[]string{`update ~journal set kind = 'c' where id = 1`}, []string{"entry 1 was changed"}},
		"a removed entry":    {[]string{`delete from ~journal where id = 4`}, []string{"entry 5 does not follow entry 3"}},
		"the first removed":  {[]string{`delete from ~journal where id = 1`}, []string{"entry 2 does not follow entry 0"}},
		"the newest removed": {[]string{`delete from ~journal where id = 8`}, []string{"entries are missing behind entry 7"}},
		"all removed":        {[]string{`delete from ~journal`}, []string{"entries are missing behind entry 0"}},
		"an inserted entry": {
			[]string{`insert into ~journal (id, task_id, seq, at, kind, payload)
				select 99, task_id, seq, at, kind, payload from ~journal where id = 2`},
			[]string{"entry 99 has no link"},
		},
		"a copied entry": {
			[]string{`insert into ~journal (id, task_id, seq, at, kind, payload, link)
				select 99, task_id, seq, at, kind, payload, link from ~journal where id = 2`},
			[]string{"entry 99 does not follow entry 8"},
		},
		"a moved entry": {
			[]string{
				`update ~journal set id = 99 where id = 2`,
				`update ~journal set id = 2 where id = 3`,
				`update ~journal set id = 3 where id = 99`,
			},
			[]string{"entry 2 does not follow entry 1", "entry 3 does not follow entry 2", "entry 4 does not follow entry 3"},
		},
		"a removed link": {
			[]string{`update ~journal set link = '' where id = 6`},
			[]string{"entry 6 has no link", "entry 7 does not follow entry 6"},
		},
		"a changed head": {[]string{`update ~journal_head set hash = 'x'`}, []string{"entries are missing behind entry 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, other, tamper := open(t)
			write(s, 1, 3)
			write(other, 4, 6)
			for _, query := range c.do {
				tamper(query)
			}
			a, err := task.Verify(t.Context(), s)
			require.NoError(t, err)
			require.Len(t, a.Broken, len(c.want), "%s", a.Broken)
			for i, want := range c.want {
				require.Contains(t, a.Broken[i], want)
			}
			if name != "nothing" {
				return
			}
			require.Equal(t, []any{8, 0, 32}, []any{a.Entries, a.Before, len(a.Head)})
			links, err := other.Links(t.Context(), 0, 100)
			require.NoError(t, err)
			require.True(t, json.Valid(links[7].Entry.Payload))
			require.Equal(t, a.Head, links[7].Hash)
		})
	}
	t.Run("from before the chain", func(t *testing.T) {
		s, _, tamper := open(t)
		write(s, 1, 3)
		tamper(`update ~journal set link = ''`)
		tamper(`delete from ~journal_head`)
		write(s, 4, 5)
		a, err := task.Verify(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, []any{2, 4, 0}, []any{a.Entries, a.Before, len(a.Broken)})
	})
}
