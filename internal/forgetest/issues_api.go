package forgetest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// foundIssue finds the issue of a path, or the pull request of its number where that has the call too.
func (c *call) foundIssue(what string, number int) bool {
	if c.i = c.issue(c.at.name, number); c.i != nil {
		return true
	}
	comments := strings.HasSuffix(what, " /comments")
	switch {
	case c.p != nil && what == "GET ":
		c.ok(c.wirePullIssue(c.p))
	case c.p != nil && comments && !c.gitea:
		return true
	case c.gitea && (comments || what == "GET /timeline"): // it looks no closer
		c.fail(refusal{status: http.StatusInternalServerError, text: "issue does not exist"})
	default:
		c.fail(c.notFound)
	}
	return false
}

func (c *call) postLabel() {
	var in struct {
		Name, Color string
		Exclusive   bool
	}
	if !c.decode(&in) {
		return
	}
	color, hash := strings.CutPrefix(in.Color, "#")
	switch {
	case in.Name == "" || len(color) != 6 || hash != c.gitea:
		c.fail(invalid())
		return
	case !c.gitea && slices.ContainsFunc(c.at.labels, called(in.Name)): // Gitea has several of one name
		exists := object{"resource": "Label", "code": "already_exists", "field": "name"}
		c.reply(http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []any{exists}})
		return
	}
	l := c.addLabel(c.at, Label{Name: in.Name, Color: color, Exclusive: in.Exclusive && c.gitea})
	c.reply(http.StatusCreated, c.wireLabel(l))
}

// listIssues answers newest change first at GitHub, on request, and newest first at Gitea,
// which has no choice of orders.
func (c *call) listIssues() {
	q := c.r.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("since"))
	var list []*Issue
	for _, i := range slices.Backward(c.at.issues) {
		has := true
		for name := range strings.SplitSeq(q.Get("labels"), ",") {
			has = has && (name == "" || slices.ContainsFunc(i.Labels, called(name)))
		}
		state := q.Get("state") == "all" || i.Open == (q.Get("state") != "closed")
		typed := c.gitea || q.Get("type") == "" // at GitHub that is one of its types of issues, which none here has
		if has && state && typed && !i.Updated.Before(since) {
			list = append(list, i)
		}
	}
	if !c.gitea && q.Get("sort") == "updated" {
		slices.SortStableFunc(list, func(a, b *Issue) int { return b.Updated.Compare(a.Updated) })
	}
	var rows []any
	for _, p := range c.pulls {
		if p.repo == c.at && q.Get("labels") == "" && q.Get("type") == "" {
			rows = append(rows, c.wirePullIssue(p))
		}
	}
	c.listIn(append(rows, wired(list, c.wireIssue)...))
}

func (c *call) postIssue() {
	var in struct{ Title, Body string }
	switch {
	case !c.decode(&in):
	case in.Title == "":
		c.fail(invalid())
	default:
		c.reply(http.StatusCreated, c.wireIssue(c.openIssue(c.at, c.login(c.r), in.Title, in.Body)))
	}
}

// patchIssue opens and closes; Gitea closes nothing that waits for an open issue.
func (c *call) patchIssue() {
	var in struct{ State string }
	if !c.decode(&in) {
		return
	}
	closes, status := in.State == "closed", http.StatusOK
	if c.gitea {
		status = http.StatusCreated
	}
	if closes && c.gitea && slices.ContainsFunc(c.blockers(), func(by *Issue) bool { return by.Open }) {
		c.fail(refusal{status: http.StatusPreconditionFailed, text: "cannot close this issue because it still has open dependencies"})
		return
	}
	c.setOpen(c.i, c.login(c.r), !closes)
	c.reply(status, c.wireIssue(c.i))
}

// putLabels takes names at GitHub, where a new name makes a label, and ids at Gitea, where an
// unknown id is left out.
func (c *call) putLabels() {
	var in struct{ Labels []any }
	if !c.decode(&in) {
		return
	}
	var list []Label
	for _, one := range in.Labels {
		at := -1
		switch v := one.(type) {
		case string:
			if at = slices.IndexFunc(c.at.labels, called(v)); at < 0 && !c.gitea {
				c.addLabel(c.at, Label{Name: v, Color: "ededed"})
				at = len(c.at.labels) - 1
			}
		case float64:
			at = slices.IndexFunc(c.at.labels, func(l Label) bool { return l.ID == int(v) })
		}
		if at >= 0 {
			list = append(list, c.at.labels[at])
		}
	}
	c.setLabels(c.i, c.login(c.r), list)
	c.ok(wired(c.i.Labels, c.wireLabel))
}

// listComments has pages at GitHub alone.
func (c *call) listComments() {
	var list []Comment
	if c.i != nil {
		list = c.i.Comments
	} else {
		list = c.p.said
	}
	rows := wired(list, c.wireComment)
	if c.gitea {
		c.ok(rows)
		return
	}
	c.list(rows)
}

// textMax is the length of a comment, in bytes here.
const textMax = 65536

func (c *call) postComment() {
	var in struct{ Body string }
	if !c.decode(&in) {
		return
	}
	if in.Body == "" || len(in.Body) > textMax {
		c.fail(invalid("body is too long (maximum is 65536 characters)"))
		return
	}
	said := c.comment(c.login(c.r), in.Body)
	if c.i != nil {
		c.say(c.i, said)
	} else {
		c.p.said = append(c.p.said, said)
	}
	c.reply(http.StatusCreated, c.wireComment(said))
}

func (c *call) patchComment() {
	var in struct{ Body string }
	if !c.decode(&in) {
		return
	}
	id, _ := strconv.Atoi(c.r.PathValue("id"))
	for _, i := range c.at.issues {
		for n := range i.Comments {
			if said := &i.Comments[n]; said.ID == id {
				said.Body, said.Edited = in.Body, c.opt.Now()
				i.Updated = said.Edited
				c.sendComment(i, *said, "edited", c.login(c.r))
				c.ok(c.wireComment(*said))
				return
			}
		}
	}
	c.fail(c.notFound)
}

// blockers are the issues that the one of the path waits for.
func (c *call) blockers() (out []*Issue) {
	for _, n := range c.i.BlockedBy {
		if by := c.issue(c.i.Repo, n); by != nil {
			out = append(out, by)
		}
	}
	return out
}

func (c *call) listBlockers() {
	if !c.related {
		c.fail(c.notFound)
		return
	}
	c.listIn(wired(c.blockers(), c.wireIssue))
}
