package limit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

func TestSender(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64",
		"[2001:db8:1:2::9%eth0]:1": "2001:db8:1:2::/64", "@": "@", "": "",
	} {
		require.Equal(t, want, limit.Sender(&http.Request{RemoteAddr: remote}), remote)
	}
}

// Only a proxy's header counts for another address.
func TestBehind(t *testing.T) {
	proxies := []limit.Trusted{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}, {Prefix: netip.MustParsePrefix("10.1.0.0/16")}}
	for _, c := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"192.0.2.7:1", "192.0.2.7", []string{"198.51.100.1"}},
		{"127.0.0.1:1", "198.51.100.1", []string{"198.51.100.1"}},
		{"127.0.0.1:1", "198.51.100.2", []string{"203.0.113.9, 198.51.100.2"}},
		{"127.0.0.1:1", "198.51.100.2", []string{"203.0.113.9", "198.51.100.2, 10.1.2.3"}},
		{"127.0.0.1:1", "127.0.0.1", nil},
		{"127.0.0.1:1", "127.0.0.1", []string{"somebody"}},
		{"127.0.0.1:1", "10.1.2.3", []string{"evil, 10.1.2.3"}},
	} {
		got := ""
		h := limit.Behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = limit.Sender(r) }), proxies)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = c.peer, http.Header{"X-Forwarded-For": c.forwarded}
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, c.want, got, "%v", c)
	}
}

func TestShare(t *testing.T) {
	s := limit.Share{All: 10, Each: 6}
	s.Free("a", 0)
	require.True(t, s.Take("a", 6))
	require.False(t, s.Take("a", 1), "its part")
	require.True(t, s.Take("b", 4))
	require.False(t, s.Take("b", 1), "there is no more")
	s.Free("a", 6)
	require.True(t, s.Take("b", 2))
	require.True(t, s.Take("c", 4))
}

func TestTally(t *testing.T) {
	var c limit.Tally
	now := time.Unix(1_700_000_000, 0)
	n, say := c.Count(now)
	require.True(t, say)
	require.Equal(t, 1, n)
	for i := range 59 {
		_, say = c.Count(now.Add(time.Duration(i) * time.Second))
		require.False(t, say)
	}
	n, say = c.Count(now.Add(time.Minute))
	require.True(t, say)
	require.Equal(t, 60, n)
}

// Each sender has five guesses, and one more every twelve seconds.
func TestGuessesOfOne(t *testing.T) {
	var g limit.Guesses
	now := time.Unix(1_700_000_000, 0)
	for i := range 5 {
		require.Zero(t, g.Wait("a", now), i)
		g.Wrong("a", now)
	}
	require.Equal(t, 12*time.Second, g.Wait("a", now))
	require.Zero(t, g.Wait("b", now), "others are not held up")
	now = now.Add(12 * time.Second)
	require.Zero(t, g.Wait("a", now))
	g.Wrong("a", now)
	require.Equal(t, 12*time.Second, g.Wait("a", now))
	require.Zero(t, g.Wait("a", now.Add(time.Minute)))
}

// However many guess, at one address or at all of them, the right secret is let in.
func TestGuessesLockNobodyOut(t *testing.T) {
	var g limit.Guesses
	now := time.Unix(1_700_000_000, 0)
	for i := range 2000 {
		ok, _ := g.Try(fmt.Sprint(i%20), now, func() bool { return false })
		require.False(t, ok)
	}
	for _, sender := range []string{"0", "new"} {
		ok, wait := g.Try(sender, now, func() bool { return true })
		require.True(t, ok, sender)
		require.Zero(t, wait)
	}
	_, wait := g.Try("0", now, func() bool { return false })
	require.Equal(t, 12*time.Second, wait, "a right one frees no guesses")
}

func TestGuessesForget(t *testing.T) {
	var g limit.Guesses
	now := time.Unix(1_700_000_000, 0)
	for i := range 25_000 {
		g.Wrong(fmt.Sprint(i), now)
		now = now.Add(time.Second)
	}
	require.Zero(t, g.Wait("0", now))
}

// A stream ends, so that whose right to read was taken away reads no more of it.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		begun := time.Now()
		limit.NewStreams(1, 1).Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), "kim", nil,
			func() ([]byte, bool, error) { return nil, false, nil })
		require.Less(t, time.Since(begun), time.Hour)
	})
}
