package service_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// counted counts the journals that are read.
type counted struct {
	*memstore.Store
	read atomic.Int64
}

func (c *counted) Journal(ctx context.Context, id int64) ([]task.JournalEntry, error) {
	c.read.Add(1)
	return c.Store.Journal(ctx, id)
}

// The live message forecasts a card when others have ended, each time that it is changed by something else: while nothing
// happens to the card neither message nor forecast is made again.
func TestChatForecasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, board, _ := options(t)
		chat, store := memmessenger.New(), &counted{Store: memstore.New(nil)}
		o.Features, o.Messenger, o.Store = service.DefaultFeatures(), chat, store
		s := serve(t, o)
		_, stop := running(t, s)
		defer stop()
		put := puts(board)
		live := func(id string) memmessenger.Sent {
			var of []memmessenger.Sent
			for _, m := range chat.Messages() {
				if strings.HasSuffix(m.Shown.Title, "card "+id) && m.Shown.Silent {
					of = append(of, m)
				}
			}
			require.Len(t, of, 1)
			return of[0]
		}
		for _, id := range []string{"1", "2", "3"} {
			put(id, stage.StatusToAnalyse)
			time.Sleep(time.Minute) // longer than the last one, of which they tell then
			if id == "1" {
				require.NotContains(t, live(id).Shown.Lines[1], "done by", "nothing has ended")
			}
			put(id, stage.StatusApproved)
			require.Equal(t, "done", live(id).Shown.Lines[0])
			require.NotContains(t, strings.Join(live(id).Shown.Lines, "\n"), "done by")
		}
		put("4", stage.StatusToAnalyse)
		first := live("4")
		require.Regexp(t, `^done by \d\d:\d\d UTC ± .*, about \$.* ± \$.* \(as only 3 cards of acme/APP\)$`, first.Shown.Lines[1])
		for path, want := range map[string]string{
			"/queue": `"text": "done by `, "/tasks/4/explain": `"text": "done by `, "/dashboard/tasks/4": `id="forecast">Forecast: done by `,
			"/tasks/3/explain": `"summary"`,
		} {
			body := get(s.Handler, path).Body.String()
			require.Contains(t, body, want, path)
			require.Equal(t, path != "/tasks/3/explain", strings.Contains(body, "done by "), path)
		}
		before := store.read.Load()
		time.Sleep(20 * time.Minute)
		require.Equal(t, first, live("4"), "a forecast alone changes nothing")
		require.Equal(t, before, store.read.Load())
	})
}
