package trackhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// health is the answer of health.
type health struct {
	Status  string         `json:"status"` // ok or down
	Tracks  int            `json:"tracks"`
	Sources []sourceHealth `json:"sources"`
	Cache   cacheHealth    `json:"cache"`
}

// sourceHealth is a source and its last run, null if it had none.
type sourceHealth struct {
	Source
	LastRun *lastSourceRun `json:"last_run"`
}

// lastSourceRun is a run as an operator reads it.
type lastSourceRun struct {
	Status     string     `json:"status"`
	Region     string     `json:"region"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Inserted   int        `json:"inserted"`
	Updated    int        `json:"updated"`
	Duplicates int        `json:"duplicates"`
	Rejected   int        `json:"rejected"`

	RejectedFor gpstracks.Tally `json:"rejected_for"` // why: a number for each gpstracks.Reason
	ChangedFor  gpstracks.Tally `json:"changed_for"`  // why tracks were not kept as the source gave them
}

// cacheHealth is the state of the tile cache.
type cacheHealth struct {
	Size     int   `json:"size"`
	Capacity int   `json:"capacity"`
	Hits     int64 `json:"hits"`
	Misses   int64 `json:"misses"`
}

// health answers 200, or 503 if the store does not answer.
func (h *Handler) health(w http.ResponseWriter, r *http.Request) {
	out := health{Status: "ok", Sources: []sourceHealth{}, Cache: cacheHealth{
		Size: h.cache.tiles.Len(), Capacity: h.cache.capacity, Hits: h.cache.hits.Load(), Misses: h.cache.misses.Load(),
	}}
	status := http.StatusOK
	n, err := h.o.Store.Count(r.Context())
	var runs []gpstracks.Run
	if err == nil && h.o.Runs != nil {
		runs, err = h.o.Runs.LastRuns(r.Context())
	}
	if err != nil {
		h.o.Log.Error("gps tracks: the store is down", "err", err)
		out.Status, status = "down", http.StatusServiceUnavailable
	}
	out.Tracks = n
	for _, s := range *h.sources.Load() {
		out.Sources = append(out.Sources, sourceHealth{s, lastRun(runs, s.Name)})
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, status, "application/json", out)
}

func lastRun(runs []gpstracks.Run, source string) *lastSourceRun {
	for _, r := range runs {
		if r.Source != source {
			continue
		}
		l := &lastSourceRun{
			Status: string(r.Status), Region: r.Region, StartedAt: r.StartedAt.UTC(),
			Inserted: r.Inserted, Updated: r.Updated, Duplicates: r.Duplicates, Rejected: r.Rejected,
			RejectedFor: r.RejectedFor.Add(), ChangedFor: r.ChangedFor.Add(), // {} rather than null
		}
		if !r.FinishedAt.IsZero() {
			at := r.FinishedAt.UTC()
			l.FinishedAt = &at
		}
		return l
	}
	return nil
}

// clear empties the cache for requests with the token.
func (h *Handler) clear(w http.ResponseWriter, r *http.Request) {
	if h.o.ClearToken == "" {
		problem(w, http.StatusForbidden, "clear-off", "Clearing the cache is switched off: the server has no token for it.")
		return
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(h.o.ClearToken))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="gps-tracks"`)
		problem(w, http.StatusUnauthorized, "token", "Clearing the cache takes a bearer token of this server.")
		return
	}
	n := h.cache.clear()
	h.o.Log.Info("gps tracks: tile cache cleared", "tiles", n)
	w.Header().Set("Cache-Control", "no-store")
	answer(w, http.StatusOK, "application/json", map[string]int{"cleared": n})
}
