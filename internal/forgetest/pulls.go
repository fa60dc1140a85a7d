package forgetest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// listPulls lists the newest first, those of forks with them. Gitea has no filter of branches.
func (c *call) listPulls() {
	q := c.r.URL.Query()
	who, branch, _ := strings.Cut(q.Get("head"), ":")
	rows := []any{}
	for _, p := range slices.Backward(c.pulls) {
		listed := q.Get("state") == "all" || p.Open == (q.Get("state") != "closed")
		if p.repo == c.at && listed && (c.gitea || branch == "" || p.Head == branch && who == owner(c.at.called)) {
			row := c.wirePull(p)
			if !c.gitea { // whose list shows less
				delete(row, "merged")
				delete(row, "mergeable_state")
			}
			rows = append(rows, row)
		}
	}
	c.list(rows)
}

func (c *call) createPull() {
	var in struct{ Title, Head, Base, Body string }
	if !c.decode(&in) {
		return
	}
	if err := c.mayOpen(c, in.Title, in.Head, in.Base); err != nil {
		c.fail(err)
		return
	}
	p := c.open(c.at, &pull{Pull: Pull{
		Title: in.Title, Body: in.Body, Head: in.Head, Base: in.Base, HeadSHA: c.at.Heads()[in.Head], Author: Self,
	}})
	c.runCI(c.at, p.Head, p.HeadSHA)
	c.reply(http.StatusCreated, c.wirePull(p))
}

// twin is the open pull request of a branch into a base.
func (c *call) twin(head, base string) *pull {
	for _, p := range c.pulls {
		if p.repo == c.at && p.Head == head && p.Base == base && p.Open && !p.fork {
			return p
		}
	}
	return nil
}

func (c *call) mergePull() {
	var in object
	if !c.decode(&in) {
		return
	}
	field := func(n int) string { word, _ := in[c.order[n]].(string); return word }
	method := cmp.Or(field(0), c.usual)
	sha, err := "", c.mayMerge(c.Server, c.p, method)
	if err == nil {
		sha, err = c.merge(c.p, method, field(1), field(2))
	}
	switch {
	case err != nil:
		c.fail(err)
	case c.gitea:
		c.w.WriteHeader(http.StatusOK) // and nothing else
	default:
		c.ok(object{"sha": sha, "merged": true, "message": "Pull Request successfully merged"})
	}
}

// mergeable reports whether the branches of an open pull request can be merged.
func (p *pull) mergeable() bool {
	heads := p.repo.Heads()
	if !p.Open || p.fork || heads[p.Head] == "" || heads[p.Base] == "" {
		return false
	}
	_, err := p.repo.Tree(heads[p.Base], heads[p.Head])
	return err == nil
}

func (p *pull) isDraft() bool {
	return p.Draft || strings.HasPrefix(strings.ToUpper(p.Title), "WIP:")
}

// merge merges by a method; the lock is held. An empty value of wanted means any head.
func (s *Server) merge(p *pull, method, title, wanted string) (string, error) {
	heads := p.repo.Heads()
	head, base := heads[p.Head], heads[p.Base]
	if wanted != "" && wanted != head {
		return "", s.stale
	}
	tree, err := p.repo.Tree(base, head)
	if err != nil {
		return "", err
	}
	sha, linear := head, s.gitea && p.repo.MergeBase(base, head) == base
	switch {
	case linear && (method == "rebase" || method == "fast-forward-only"):
		err = p.repo.Move(p.Base, base, head)
	case method == "fast-forward-only":
		return "", refusal{http.StatusInternalServerError, "Merge DivergingFastForwardOnly Error: not possible to fast-forward", nil}
	case method == "squash" || method == "rebase": // what cannot be fast-forwarded becomes one commit
		sha, err = p.repo.Commit(p.Base, tree, title, base)
	default:
		sha, err = p.repo.Commit(p.Base, tree, title, base, head)
	}
	if err != nil {
		return "", err
	}
	p.Open, p.Merged, p.MergeSHA, p.HeadSHA, p.MergeTime = false, true, sha, head, s.opt.Now()
	s.merges++
	if p.repo.settings.DeleteHead {
		if err := p.repo.Remove(p.Head); err != nil {
			return "", err
		}
	}
	s.send("pull_request", s.wirePullEvent(p, "closed"))
	return sha, nil
}

func (c *call) branch() {
	name := c.r.PathValue("branch")
	if sha := c.at.Heads()[name]; sha != "" {
		c.ok(c.wireBranch(c.at, name, sha))
		return
	}
	c.fail(c.noBranch)
}

// deleteBranch deletes a branch, but none that Gitea protects.
func (c *call) deleteBranch() {
	name := c.r.PathValue("branch")
	_, protected := c.at.settings.Required[name]
	switch {
	case c.at.Heads()[name] == "":
		c.fail(c.noRef)
	case c.gitea && name == c.at.First():
		c.fail(refusal{status: http.StatusForbidden, text: "can not delete default or pull request target branch"})
	case c.gitea && protected:
		c.fail(refusal{status: http.StatusForbidden, text: "branch protected"})
	default:
		if err := c.at.Remove(name); err != nil {
			c.fail(err)
			return
		}
		c.w.WriteHeader(http.StatusNoContent)
	}
}

// wirePull is a pull request; what one host alone shows of it is in that one's file.
func (s *Server) wirePull(p *pull) object {
	heads := p.repo.Heads()
	head, state := p.HeadSHA, "closed"
	if p.Open {
		state = "open"
		if now := heads[p.Head]; now != "" && !p.fork {
			head = now
		}
	}
	side := func(branch, sha string) object {
		return object{"label": branch, "ref": branch, "sha": sha, "repo": s.wireRepo(p.repo)}
	}
	from, into := side(p.Head, head), side(p.Base, heads[p.Base])
	out := object{
		"id": p.Number, "number": p.Number, "state": state, "title": p.Title, "body": p.Body, "user": s.wireUser(p.Author),
		"html_url": s.address(p.repo, s.pullPage, p.Number), "created_at": stamp(p.Created), "draft": p.isDraft(),
		"head": from, "base": into, "merged": p.Merged, "merged_at": nil, "merge_commit_sha": nil,
	}
	if p.Merged {
		out["merged_at"], out["merge_commit_sha"] = stamp(p.MergeTime), p.MergeSHA
	}
	s.more(s, p, out, from, into)
	return out
}

func (s *Server) wirePullEvent(p *pull, action string) object {
	out := object{"action": action, "number": p.Number, "pull_request": s.wirePull(p)}
	if s.gitea {
		out["requested_reviewer"], out["commit_id"], out["review"] = nil, "", nil
	}
	return s.event(p.repo, "someone", out)
}

func (s *Server) wirePush(c headChange, made, gone bool) object {
	out := object{"ref": "refs/heads/" + c.Branch, "before": c.Before, "after": c.After, "commits": []any{}, "head_commit": nil}
	if s.gitea {
		out["total_commits"], out["pusher"] = 0, s.wireUser("someone")
	} else {
		out["created"], out["deleted"], out["forced"] = made, gone, false
	}
	return out
}

// stamp is a moment in the hosts' form, which has whole seconds.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
