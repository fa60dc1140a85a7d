package storetest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func contents(k *kit) {
	text := task.NewContent([]byte(strings.Repeat("ünïcode\n\x00", 5000)))
	other, lost := task.NewContent([]byte{}), task.NewContent([]byte("lost"))
	k.commit(task.Commit{Contents: []task.Content{text, other, text}})
	k.commit(task.Commit{Contents: []task.Content{text}})
	stale := k.newTask(1)
	stale.Version = 7
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &stale, Contents: []task.Content{lost}}), task.ErrConflict)
	for _, c := range []task.Content{text, other} {
		body, err := k.s.Content(k.Context(), c.ID)
		require.NoError(k, err)
		require.Equal(k, string(c.Body), string(body))
	}
	for _, id := range []string{lost.ID, ""} {
		_, err := k.s.Content(k.Context(), id)
		require.ErrorIs(k, err, task.ErrNotFound)
	}
	require.Less(k, len(task.Pack(text.Body)), len(text.Body)/50)
}

func facts(k *kit) {
	like := func(kind task.FactKind, of string, id int64, limit int) []task.Fact {
		k.Helper()
		list, err := k.s.Facts(k.Context(), task.Fact{Kind: kind, Of: of, Task: id}, limit)
		require.NoError(k, err)
		return list
	}
	at := k.clock.Now()
	app2 := task.Fact{Kind: "place", Of: "acme/app", Task: 2, Text: "APP-2", Since: at}
	app10 := task.Fact{Kind: "place", Of: "acme/app", Task: 10, Text: "APP-10", Since: at}
	upper := task.Fact{Kind: "place", Of: "Acme/app", Task: 3, Text: "ünïcode\n🚦", Since: at}
	other := task.Fact{Kind: "places", Of: "acme/app", Task: 2, Since: at}
	k.commit(task.Commit{Facts: []task.Fact{app10, other, upper, app2}, Hold: []queue.Hold{{Subject: "s", Name: "n"}}})
	require.Equal(k, []task.Fact{upper, app2, app10}, like("place", "", 0, 0), "by what they are of, byte by byte, and task")
	require.Equal(k, []task.Fact{app2, app10}, like("place", "acme/app", 0, 0))
	require.Equal(k, []task.Fact{app2}, like("place", "acme/app", 0, 1))
	require.Equal(k, []task.Fact{app10}, like("place", "", 10, 0))
	require.Empty(k, like("pla", "", 0, 0))

	k.clock.Add(time.Minute)
	app2.Text = "renamed"
	k.commit(task.Commit{Facts: []task.Fact{app2}})
	require.Equal(k, []task.Fact{app2}, like("place", "", 2, 0), "it is so since it was first")

	stale := k.newTask(1)
	stale.Version = 7
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &stale, Over: []task.Fact{app2}, Facts: []task.Fact{{Kind: "new"}}}), task.ErrConflict)
	require.Len(k, like("place", "", 0, 0), 3, "a commit that is refused changes nothing")
	require.Empty(k, like("new", "", 0, 0))

	k.commit(task.Commit{Over: []task.Fact{app2, {Kind: "place", Of: "nobody"}}})
	require.Equal(k, []task.Fact{upper, app10}, like("place", "", 0, 0))
	k.commit(task.Commit{Over: []task.Fact{app10}, Facts: []task.Fact{app10}})
	require.Len(k, like("place", "", 0, 0), 2, "what is over in a commit is so again by it")
}
