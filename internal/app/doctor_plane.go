package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// plane examines the tokens of Plane and whom they speak for, and reports whether the shared
// one can be worked with.
func (d *doctor) plane(ctx context.Context, v *Service) (accepted bool) {
	s := v.Settings
	tokens, err := v.Plane.Tokens(ctx)
	d.tokens = tokens
	how := "make a token in Plane's profile settings (API tokens, at " + s.PlaneURL + ") and set it as " + Prefix + "PLANE_TOKEN"
	accepted = d.check("plane", "the tokens are accepted by "+s.PlaneURL, mend(err, how))
	d.planeHooks(ctx, v)
	if s.Features.Reconcile && s.Features.ReadBoards && accepted {
		limit, boards := v.Plane.Budgets()[0].Limit, len(v.Projects.Boards())
		of := fmt.Sprintf(" of at least %d", limit) // what others have used of it does not show
		if limit == 0 {
			of = "" // it names none
		}
		idle := reconcile.IdleCost(boards, limit, s.Features.Reconciler.Every)
		d.ok("plane", "idle cost is %.0f%s requests a minute, for each server with this token (%d boards)", idle, of, boards)
	}
	return accepted
}

// setting is the name of the setting of a token.
func setting(t plane.Token) string {
	if t.Role == "" {
		return Prefix + "PLANE_TOKEN"
	}
	return Prefix + "PLANE_TOKEN_" + strings.ToUpper(string(t.Role))
}

// who names an account for people.
func who(t plane.Token) string {
	return cmp.Or(t.Account.Name, t.Account.Email, t.Account.ID)
}

// membersPage is where people of the workspace are invited.
func (s Settings) membersPage() string {
	return strings.TrimSuffix(s.PlaneURL, "/") + "/" + s.PlaneWorkspace + "/settings/members/"
}

// projectMembersPage is where people are made members of a project.
func (s Settings) projectMembersPage(id string) string {
	project := strings.TrimSuffix(s.PlaneURL, "/") + "/" + s.PlaneWorkspace + "/settings/projects/" + id
	return project + "/members/ (Members in the settings of the project)"
}

// planeProject examines what the tokens of Plane are and may do in a project.
func (d *doctor) planeProject(ctx context.Context, v *Service, p task.Project) {
	for _, t := range d.tokens {
		may, err := v.Plane.May(ctx, p.TrackerProject, t)
		page := v.Settings.projectMembersPage(p.TrackerProject)
		switch {
		case err != nil:
			d.bad(p.Prefix, fmt.Errorf("%s: %w", setting(t), err))
		case !may && t.Role == "":
			d.bad(p.Prefix, fmt.Errorf("%s: %s may not change cards, so none would ever move: "+
				"make it a member of the project, and no guest, at %s", setting(t), who(t), page))
		case !may:
			d.bad(p.Prefix, fmt.Errorf("%s: %s is not a member of the project, so no comment of the %s would be posted: add it at %s",
				setting(t), who(t), t.Role, page))
		case t.Role == "":
			d.ok(p.Prefix, "%s may change cards", who(t))
		}
	}
	makers, err := v.Plane.Makers(ctx, p.TrackerProject)
	if err != nil {
		d.bad(p.Prefix, err)
		return
	}
	for _, t := range d.tokens {
		if makers[t.Account.ID] {
			d.warn(p.Prefix, "%s belongs to %s, who makes cards on the board: the journal cannot tell that person from the service; "+
				"invite an account for the service at %s, make it a member of the project, "+
				"and make the token in its own profile settings (API tokens)",
				setting(t), who(t), v.Settings.membersPage())
		}
	}
}

// planeHooks says what is known of Plane's webhooks: its API does not show them.
func (d *doctor) planeHooks(ctx context.Context, v *Service) {
	address := "the address of this server and " + trackerHooks
	if v.Settings.PublicURL != "" {
		address = v.Settings.publicURL() + trackerHooks
	}
	last, err := v.DB.LastDelivery(ctx, trackerPlane)
	switch {
	case err != nil:
		d.bad("plane", err)
	case last.IsZero():
		d.warn("plane", "no webhook has come yet: make one for work items (issues) to %s in the workspace's settings at %s, "+
			"and set its secret as %sPLANE_WEBHOOK_SECRET (Plane takes none to its own host or to loopback); "+
			"without it boards are read every %s",
			address, v.Settings.PlaneURL, Prefix, v.Settings.Features.Reconciler.Every)
	default:
		d.ok("plane", "the last webhook came at %s", last.UTC().Format("2006-01-02 15:04:05 MST"))
	}
}
