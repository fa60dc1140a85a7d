package plane

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/proposal"
)

// OnPlane holds what init is told.
type OnPlane struct {
	Plane          bool   `help:"Cards are on a board of Plane; without it on one of the service's own."`
	PlaneURL       string `help:"Address of Plane." placeholder:"URL"`
	PlaneWorkspace string `help:"Slug of Plane's workspace, as in its addresses." placeholder:"SLUG"`
	PlaneProject   string `help:"Plane's project: its identifier, name or id." placeholder:"NAME"`
}

// Propose implements the proposal of an account; nil where it is not chosen.
func (o *OnPlane) Propose(ctx context.Context, a proposal.Answers) (*proposal.Account, error) {
	isDefault := a.Value("ORCH_TRACKER") == "" && a.Value("ORCH_PLANE_URL") != ""
	if !o.Plane && !isDefault {
		return nil, nil
	}
	a.Take("--plane", "ORCH_TRACKER", "plane", "cards are on a board of Plane")
	url, err1 := a.Setting(ctx, "ORCH_PLANE_URL", "--plane-url", o.PlaneURL, "Address of Plane, such as https://plane.example.org")
	workspace, err2 := a.Setting(ctx, "ORCH_PLANE_WORKSPACE", "--plane-workspace", o.PlaneWorkspace,
		"Slug of the workspace, as in Plane's addresses")
	token, err3 := a.Secret(ctx, "ORCH_PLANE_TOKEN", "Token of Plane (profile settings, API tokens, at "+cmp.Or(url, "Plane")+")")
	of := Options{BaseURL: url, Workspace: workspace, Token: token, Insecure: true} // no webhook comes here
	return &proposal.Account{
		Flag: "--plane", Title: "Plane", URL: url, Board: true, Secret: "ORCH_PLANE_WEBHOOK_SECRET",
		Why:         "of Plane's webhook; Plane makes its own, which belongs here in place of this one",
		ProjectFlag: "--plane-project", Project: o.PlaneProject,
		Find: func(ctx context.Context) (string, string, error) { return o.find(ctx, a, of) },
	}, cmp.Or(err1, err2, err3)
}

// find finds the project of the board, with its identifier.
func (o *OnPlane) find(ctx context.Context, a proposal.Answers, of Options) (id, prefix string, err error) {
	c, err := New(of)
	if err != nil {
		return "", "", err
	}
	if err := c.Identify(ctx); err != nil {
		return "", "", fmt.Errorf("ORCH_PLANE_TOKEN is refused, or ORCH_PLANE_URL is no Plane: %w; "+
			"tokens are made in the profile settings (API tokens) at %s", err, of.BaseURL)
	}
	list, err := c.projects(ctx)
	if err != nil {
		return "", "", fmt.Errorf("--plane-workspace: the workspace %s cannot be read: %w; "+
			"its slug stands in the addresses of its pages at %s", of.Workspace, err, of.BaseURL)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Identifier)
	}
	only := ""
	switch len(list) {
	case 0:
		return "", "", fmt.Errorf("the token sees no project in the workspace %s: make one, or make its account a member of one, at %s",
			of.Workspace, of.BaseURL)
	case 1:
		only = names[0]
	}
	wanted, err := a.Ask(ctx, "--plane-project", o.PlaneProject, "Project of Plane: "+strings.Join(names, ", "), only)
	if err != nil || wanted == "" {
		return "", "", err
	}
	at := slices.IndexFunc(list, func(p project) bool {
		return p.ID == wanted || strings.EqualFold(p.Identifier, wanted) || strings.EqualFold(p.Name, wanted)
	})
	if at < 0 {
		return "", "", fmt.Errorf("--plane-project: the token sees no project %q, but %s", wanted, strings.Join(names, ", "))
	}
	return list[at].ID, list[at].Identifier, nil
}
