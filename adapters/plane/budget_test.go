package plane_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// shop is a board whose tokens have so many requests a minute, in virtual time, and clients of it.
type shop struct {
	*testing.T
	server        *planetest.Server
	project, item string
}

// limited opens a shop.
func limited(t *testing.T, limit int, test func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{T: t, server: planetest.New(planetest.Options{Tokens: map[string]string{botToken: bot, reviewerToken: reviewer}, RateLimit: limit})}
		defer s.server.Close()
		s.project = s.server.AddProject("GPX", planetest.StandardStates()...)
		var err error
		s.item, err = s.server.AddItem(s.project, "t", "d")
		require.NoError(t, err)
		test(s)
	})
}

// client makes one, as a process of its own.
func (s *shop) client() *plane.Client {
	s.Helper()
	p := &rig{plane: s.server}
	c, err := plane.New(plane.Options{
		BaseURL: "http://plane.example.org", Workspace: "acme", Token: botToken, RoleTokens: map[stage.Role]string{stage.Reviewer: reviewerToken},
		HTTPClient: &http.Client{Transport: inProcess(p.call)},
	})
	require.NoError(s, err)
	return c
}

func (s *shop) read(c *plane.Client) error {
	_, err := c.Item(s.as(allowance.Event), s.project, s.item)
	return err
}

// reads requires a read to succeed.
func (s *shop) reads(c *plane.Client) {
	s.Helper()
	require.NoError(s, s.read(c))
}

// set sets the status of the card for a word.
func (s *shop) set(c *plane.Client, to stage.Status) error {
	return c.SetStatus(s.as(allowance.Word), s.project, s.item, to)
}

func (s *shop) list(c *plane.Client) error {
	_, err := c.List(context.Background(), tracker.Query{ProjectID: s.project})
	return err
}

// made counts the requests that reached Plane.
func (s *shop) made() (n int) {
	for _, times := range s.server.Requests() {
		n += times
	}
	return n
}

// until calls until it is refused, and returns how often it was not.
func until(call func() error) (n int, err error) {
	for ; n < 1000; n++ {
		if err = call(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// as is a context of a class.
func (s *shop) as(c allowance.Class) context.Context { return allowance.With(s.Context(), c) }

// What comes last ends first; none meets a 429, nobody waits longer than some seconds, and the error has the time of the
// next turn.
func TestReserves(t *testing.T) {
	limited(t, 60, func(s *shop) {
		c := s.client()
		s.reads(c) // and the columns
		began, made := time.Now(), 2
		for _, row := range []struct {
			class allowance.Class
			most  int
		}{{allowance.Retry, 20}, {allowance.Listing, 30}, {allowance.Effect, 40}, {allowance.Event, 50}, {allowance.Word, 60}} {
			n, err := until(func() error { _, err := c.Item(s.as(row.class), s.project, s.item); return err })
			made += n
			if row.class == allowance.Word {
				row.most -= 3 * 1 // what waits has a twentieth for certain
			}
			require.InDelta(t, row.most, made, 3, string(row.class))
			require.True(t, fault.Retryable(err))
			require.Equal(t, 61*time.Second, fault.After(err), "when the first has left the minute")
			require.ErrorContains(t, err, "the requests of this minute are used up (Token: ")
		}
		require.Zero(t, time.Since(began))
		require.Equal(t, made, s.made(), "what is not sent costs nothing")
		_, err := c.AddComment(s.Context(), tracker.NewComment{ProjectID: s.project, ItemID: s.item, Author: stage.Reviewer, Key: "k", Body: "b"})
		require.NoError(t, err, "each token has a budget of its own")
		require.Equal(t, tracker.Budget{Token: "the token of the role reviewer", Limit: 60, Used: 1}, c.Budgets()[1])

		time.Sleep(58 * time.Second)
		require.NoError(t, s.set(c, stage.StatusBlocked), "a wait of seconds is waited for here")
		require.Equal(t, 61*time.Second, time.Since(began))
	})
}

// What comes last has its part while all that comes before it takes what it can get.
func TestNothingStarves(t *testing.T) {
	limited(t, 60, func(s *shop) {
		c, made := s.client(), map[allowance.Class]int{}
		s.reads(c)
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(4 * time.Second) {
			for _, class := range allowance.Classes() {
				n, _ := until(func() error { _, err := c.Item(s.as(class), s.project, s.item); return err })
				made[class] += n
			}
		}
		t.Log(made)
		for _, class := range allowance.Classes() {
			require.GreaterOrEqual(t, made[class], 10, "one a minute: %s", class)
		}
		require.Greater(t, made[allowance.Word], 300)
	})
}

// Others use the same token: what they leave is read of each answer.
func TestOthersUseTheToken(t *testing.T) {
	limited(t, 60, func(s *shop) {
		other, c := s.client(), s.client()
		s.reads(c)
		n, _ := until(func() error { return s.read(other) })
		require.Equal(t, 48, n, "it leaves a sixth of what it has seen to words")
		require.NoError(t, s.read(c), "what the other one has used is not known yet")
		require.Error(t, s.read(c))
		require.NoError(t, s.set(c, stage.StatusDone))
		time.Sleep(62 * time.Second)
		s.reads(c)
		require.Equal(t, tracker.Budget{Token: "Token", Limit: 60, Used: 1}, c.Budgets()[0])
	})
}

// A 429 pauses all calls of the token until the moment that it names; then writes are first.
func TestPause(t *testing.T) {
	limited(t, 60, func(s *shop) {
		c := s.client()
		s.reads(c)
		thief := s.client()
		for thief != nil { // who knows no reserve
			if err := thief.SetStatus(s.as(allowance.Word), s.project, s.item, stage.StatusDone); err != nil {
				break
			}
		}
		require.Zero(t, c.Budgets()[0].Paused)
		made := s.made()
		err := s.set(c, stage.StatusBlocked)
		require.Equal(t, []any{http.StatusTooManyRequests, time.Minute}, []any{failure(t, err).Status, fault.After(err)})
		require.Equal(t, made+1, s.made())
		for what, call := range map[string]func() error{
			"read": func() error { return s.read(c) }, "list": func() error { return s.list(c) },
			"write": func() error { return c.SetStatus(s.Context(), s.project, s.item, stage.StatusBlocked) },
		} {
			require.Equal(t, time.Minute, fault.After(call()), what)
		}
		require.Equal(t, made+1, s.made(), "nobody finds it out by himself")
		require.Equal(t, time.Now().Add(time.Minute), c.Budgets()[0].Paused)
		time.Sleep(time.Minute)
		require.NoError(t, s.set(c, stage.StatusBlocked))
		s.reads(c)
		require.Zero(t, c.Budgets()[0].Paused)
	})
}

// A server that says nothing of a limit has none.
func TestNoLimit(t *testing.T) {
	t.Parallel()
	c, s := replay(t, map[string]answer{"GET " + atItem: {file: "item"}})
	for range 200 {
		_, err := c.Item(t.Context(), projectID, itemID)
		require.NoError(t, err)
	}
	require.Equal(t, 200, s.times("GET "+atItem))
	require.Equal(t, tracker.Budget{Token: "Token", Used: 201}, c.Budgets()[0])
}

// A wait ends with the caller.
func TestWaitEndsWithTheCaller(t *testing.T) {
	limited(t, 2, func(s *shop) {
		c := s.client()
		s.reads(c)
		time.Sleep(59 * time.Second)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		_, err := c.Item(ctx, s.project, s.item)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// hasty sets the clock of a client whose waits take no time.
func hasty(o *plane.Options) {
	var passed atomic.Int64
	o.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	o.Sleep = func(ctx context.Context, d time.Duration) error { passed.Add(int64(d)); return ctx.Err() }
}
