package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Values of ORCH_TRACKER, which are the names in delivery records too.
const (
	trackerPlane = "plane"
	trackerBoard = "board" // the service's own
)

// Tracker is where cards are, with all that the features ask of it.
type Tracker interface {
	orchestrator.Tracking
	tracker.Board
	tracker.Log
	about
}

type about interface {
	tracker.People
	tracker.Linker
	tracker.Editor
	tracker.Relations
}

// openTracker opens the tracker that the settings name. The database is open.
func (v *Service) openTracker(ctx context.Context, n projectfile.Neighbours, secrets HookSecrets) (err error) {
	s := v.Settings
	if err := v.openBoards(n, secrets, os.Getenv); err != nil {
		return err
	}
	if !s.usesFirst(v.Projects) {
		v.Tracker = v.several(nil)
		return nil
	}
	if s.Tracker == trackerBoard {
		o := board.Options{Path: s.file(), Page: s.publicURL() + "/dashboard/board/cards"}
		if s.Shared() {
			o.URL, o.Schema = s.DatabaseURL.Reveal(), s.DatabaseSchema
		}
		if v.Board, err = board.Open(ctx, o); err != nil {
			return err
		}
		v.Tracker = v.several(v.Board)
		return nil
	}
	v.Plane, err = plane.New(plane.Options{
		BaseURL: s.PlaneURL, Workspace: s.PlaneWorkspace,
		Token: s.PlaneToken.Reveal(), RoleTokens: s.roleTokens(), Secrets: secrets[trackerPlane],
		Insecure: s.InsecureWebhooks, States: s.states(), HTTPClient: s.client(), Log: v.Log,
	})
	if err != nil {
		return err
	}
	v.Tracker = v.several(v.Plane)
	return nil
}

// usesFirst reports whether cards of a registry are where the settings say.
func (s Settings) usesFirst(p *task.Projects) bool {
	return s.rehearses || slices.ContainsFunc(p.All(), onBoard(""))
}

// identifiers read which accounts of each tracker are the service's own. Those of our own
// board are known by their names.
func (v *Service) identifiers() map[string]func(context.Context) error {
	out := map[string]func(context.Context) error{}
	if v.Plane != nil {
		out[""] = v.Plane.Identify
	}
	for name, b := range v.Boards {
		out[name] = b.Identify
	}
	return out
}

// publicURL is the address of this server for links, without a slash at its end.
func (s Settings) publicURL() string {
	return strings.TrimSuffix(cmp.Or(s.PublicURL, "http://"+s.Listen), "/")
}

// pages is the address of the dashboard for links on other boards; empty: it is not known from there.
func (s Settings) pages() string {
	if s.PublicURL == "" {
		return ""
	}
	return s.publicURL() + "/dashboard"
}

// checkTracker says what is wrong with the settings of the tracker.
func (s Settings) checkTracker() error {
	if s.Tracker != trackerPlane && s.Tracker != trackerBoard {
		return fmt.Errorf("is %q, want %s, or %s for a board of the service's own", s.Tracker, trackerPlane, trackerBoard)
	}
	return nil
}

// tracker examines the tracker, and reports whether it can be worked with.
func (d *doctor) tracker(ctx context.Context, v *Service) (accepted bool) {
	if v.Board != nil {
		return d.check("board", "our own, at "+v.Settings.publicURL()+"/dashboard/board", v.Board.Ping(ctx))
	}
	return d.plane(ctx, v)
}

// closeTracker closes what openTracker has opened.
func (v *Service) closeTracker() error {
	if v.Board == nil {
		return nil
	}
	return v.Board.Close()
}
