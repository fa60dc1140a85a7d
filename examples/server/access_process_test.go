package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

// access returns what /readyz says of access to the neighbours.
func (w *world) access() string { w.Helper(); return w.checks()["access"] }

// tells waits until /readyz and the card's explanation say something, and what to do, and people were notified of it.
func (w *world) tells(item, what, do string) {
	w.Helper()
	w.until("readiness says: "+what, func() bool { return strings.Contains(w.access(), what) && strings.Contains(w.access(), do) })
	var x explain.Explanation
	w.until("the card says it", func() bool {
		if !w.get("/tasks/1/explain", &x) {
			return false
		}
		for _, b := range x.Blockers {
			if b.Kind == "access" && strings.Contains(b.Why, what) && strings.Contains(b.Do, do) {
				return true
			}
		}
		return false
	})
	w.until("people are told", func() bool { return w.told(what) == 1 })
}

// told is how many messages of the chat say something.
func (w *world) told(what string) (n int) {
	for _, m := range w.chat.Messages() {
		n += strings.Count(m.Text, what)
	}
	return n
}

// Access that is refused is said where people look, with what to do, once, and ends by itself: a token
// that was revoked, a webhook's secret that is wrong, and a repository that was renamed.
func TestBrokenAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1", "MONITOR_ENABLED": "false"}, &place{prefix: "HST"})
	item := w.cardIn("HST", "Access", "To Analyse")
	w.reaches(item, "In Review")
	require.Equal(t, "ok", w.access())
	for neighbour, says := range map[string][2]string{
		"plane":  {"the tracker refuses the service at the board of HST", "set it as ORCH_PLANE_TOKEN, or make its account a member"},
		"github": {"the git host refuses the service at acme/hst", "set it as ORCH_GITHUB_TOKEN"},
	} {
		w.sick[neighbour].Sicken(fakehttp.Refuse)
		w.tells(item, says[0], says[1])
		w.sick[neighbour].Heal()
		w.until("it works again", func() bool { return w.access() == "ok" })
		require.Equal(t, 1, w.told(says[0]), "once")
	}
	body := `{"event":"issue"}`
	for range 3 {
		sum := hmac.New(sha256.New, []byte("another secret"))
		sum.Write([]byte(body))
		r, err := http.NewRequest(http.MethodPost, "http://"+w.addr+"/webhooks/tracker", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Plane-Signature", hex.EncodeToString(sum.Sum(nil)))
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	}
	w.tells(item, "every webhook of plane is refused (3 since the last good one)", "Set ORCH_PLANE_WEBHOOK_SECRET to the secret that Plane shows")

	w.host.Rename("acme/hst", "acme/hst2")
	w.tells(item, "acme/hst is called acme/hst2 at its host now", "Write path: acme/hst2 into the entry of acme/hst in projects.yaml")
	w.approve(item)
	w.over(item)
	require.Equal(t, 1, w.host.Merges())
	require.Equal(t, 1, w.told("is called acme/hst2"), "once")
	w.until("a good webhook has come", func() bool { return !strings.Contains(w.access(), "webhook") })
}
