package access

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Scope says of which repository a route needs its right.
type Scope string

// Scopes. A Table may have further ones.
const (
	Free  Scope = "none"                                              // of routes for everybody
	Every Scope = "all repositories"                                  // the right is needed in all
	Some  Scope = "any; only what the principal may read is answered" // the right is needed in one
)

// Route is a row of a table: what is served, and which right it needs.
type Route struct {
	Method, Pattern string
	Needs           Role
	Of              Scope
	Note            string // for people: what else is looked at
	Handler         http.Handler
	Stream          bool // it ends with its client; others are served to their end
	// Refuse answers when the right is missing; nil = the table's.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// Table is all that a handler serves.
type Table struct {
	Routes []Route
	// Find finds the repository of a request by the scopes of the routes; empty = all.
	Find map[Scope]func(*http.Request) (repo string, err error)
	// Identify replaces the Guard's; nil = the Guard's.
	Identify func(*http.Request) (Principal, error)
	// Refuse answers with the error of Identify, of Find, or a Refusal.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// Mux makes the mux of a table. A row without a right, or with a scope that nothing finds, is an
// error, so that nothing is served by accident.
func (g *Guard) Mux(t Table) (*http.ServeMux, error) {
	mux := http.NewServeMux()
	for _, row := range t.Routes {
		_, found := t.Find[row.Of]
		switch {
		case row.Needs == Everybody && row.Of == Free:
		case !Admin.Includes(row.Needs) || row.Needs == Everybody:
			return nil, fmt.Errorf("access: the route %s %s names no right", row.Method, row.Pattern)
		case !found && row.Of != Every && row.Of != Some:
			return nil, fmt.Errorf("access: nothing finds the repository of %s %s, scope %q", row.Method, row.Pattern, row.Of)
		}
		h := g.guarded(t, row)
		if row.Needs != Everybody && !row.Stream {
			h = limit.Finish(h.ServeHTTP)
		}
		mux.Handle(strings.TrimSpace(row.Method+" "+row.Pattern), h)
	}
	return mux, nil
}

// guarded serves a route for those who have its right.
func (g *Guard) guarded(t Table, row Route) http.Handler {
	refuse, identify := row.Refuse, t.Identify
	if refuse == nil {
		refuse = t.Refuse
	}
	if identify == nil {
		identify = g.Identify
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && row.Method == http.MethodGet && !row.Stream { // no handler takes it for what changes something
			r = r.WithContext(r.Context())
			r.Method = http.MethodGet
		}
		if row.Needs == Everybody && row.Of == Free {
			row.Handler.ServeHTTP(w, r)
			return
		}
		p, err := identify(r)
		r = r.WithContext(With(r.Context(), p))
		if err == nil {
			err = g.judge(t, row, r, p)
		}
		if err != nil {
			refuse(w, r, err)
			return
		}
		row.Handler.ServeHTTP(w, r)
	})
}

// judge looks first whether the principal has the right anywhere, so that strangers find out
// about nothing.
func (g *Guard) judge(t Table, row Route, r *http.Request, p Principal) error {
	if !p.MaySomewhere(row.Needs) {
		return g.refusal(p, row.Needs, "")
	}
	switch row.Of {
	case Some:
		return nil
	case Every:
		return g.Check(p, row.Needs, "")
	}
	repo, err := t.Find[row.Of](r)
	if err != nil {
		return err
	}
	return g.Check(p, row.Needs, repo)
}
