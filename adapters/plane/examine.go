package plane

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Mend tells a person what to do when Plane refuses the token of a setting at a project.
func (c *Client) Mend(setting, projectID string) string {
	return "Make a token in " + c.tokenPage() + " and set it as " + setting + ", or make its account a member of the project at " +
		c.projectMembers(projectID)
}

func (c *Client) tokenPage() string {
	return "Plane's profile settings (API tokens, at " + c.opt.BaseURL + ")"
}

// members is where people of the workspace are invited.
func (c *Client) membersPage() string { return c.page() + "/settings/members/" }

// projectMembers is where people are made members of a project.
func (c *Client) projectMembers(id string) string {
	return c.page() + "/settings/projects/" + id + "/members/ (Members in the settings of the project)"
}

// page is that of the workspace.
func (c *Client) page() string { return strings.TrimSuffix(c.opt.BaseURL, "/") + "/" + c.opt.Workspace }

// Examine reports, under a name, whom the tokens speak for; levels are ok, warn and FAIL. token and workspace are what people
// call their settings, and registry is the file of projects. What it returns examines a project, under its prefix, or adds to
// the error of one whose columns cannot be read what mends it; nil when the shared token cannot be worked with.
func (c *Client) Examine(
	ctx context.Context, name, token, workspace, registry string, report func(level, what, text string),
) func(ctx context.Context, id, prefix string, unread error) error {
	tokens, err := c.readTokens(ctx)
	if err != nil {
		report("FAIL", name, err.Error()+": make a token in "+c.tokenPage()+" and set it as "+token)
		return nil
	}
	report("ok", name, "the tokens are accepted by "+c.opt.BaseURL)
	return func(ctx context.Context, id, prefix string, unread error) error {
		if unread != nil {
			return fmt.Errorf("%w%s", unread, c.mendProject(ctx, id, workspace, registry))
		}
		c.examineProject(ctx, id, token, tokens, func(level, format string, args ...any) {
			report(level, prefix, fmt.Sprintf(format, args...))
		})
		return nil
	}
}

// examineProject examines what the tokens are and may do in a project.
func (c *Client) examineProject(
	ctx context.Context, id, setting string, tokens []token, report func(level, format string, args ...any),
) {
	page := c.projectMembers(id)
	for _, t := range tokens {
		may, err := c.may(ctx, id, t)
		switch {
		case err != nil:
			report("FAIL", "%s: %v", t.setting(setting), err)
		case !may && t.role == "":
			report("FAIL", "%s: %s may not change cards, so none would ever move: "+
				"make it a member of the project, and no guest, at %s", setting, t.who(), page)
		case !may:
			report("FAIL", "%s: %s is not a member of the project, so no comment of the %s would be posted: add it at %s",
				t.setting(setting), t.who(), t.role, page)
		case t.role == "":
			report("ok", "%s may change cards", t.who())
		}
	}
	makers, err := c.makers(ctx, id)
	if err != nil {
		report("FAIL", "%v", err)
		return
	}
	for _, t := range tokens {
		if makers[t.account.ID] {
			report("warn", "%s belongs to %s, who makes cards on the board: the journal cannot tell that person from the service; "+
				"invite an account for the service at %s, make it a member of the project, "+
				"and make the token in its own profile settings (API tokens)", t.setting(setting), t.who(), c.membersPage())
		}
	}
}

// setting names the setting of a token for people, of which the shared one's is given.
func (t token) setting(shared string) string {
	if t.role == "" {
		return shared
	}
	return shared + "_" + strings.ToUpper(strings.ReplaceAll(string(t.role), "-", "_"))
}

// who names an account for people.
func (t token) who() string { return cmp.Or(t.account.Name, t.account.Email, t.account.ID) }

// mendProject says what mends a project that cannot be read: the workspace, the account's membership, or the id.
func (c *Client) mendProject(ctx context.Context, id, workspace, registry string) string {
	list, err := c.projects(ctx)
	switch {
	case err != nil && !fault.Retryable(err):
		return "; the token may not read the workspace: correct " + workspace + " (the slug of its pages), or invite the account at " +
			c.membersPage()
	case err != nil || len(list) == 0:
		return ""
	case slices.ContainsFunc(list, func(p project) bool { return p.ID == id }):
		return "; the project is there, and the token's account is no member of it: make it one at " + c.projectMembers(id)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.ID+" ("+p.Identifier+")")
	}
	return "; correct tracker_project in " + registry + ": the token sees " + strings.Join(names, ", ")
}
