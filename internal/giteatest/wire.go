package giteatest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const web = "https://git.example.org/"

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func owner(repo string) string { name, _, _ := strings.Cut(repo, "/"); return name }

func wireRepo(r *repository) map[string]any {
	_, short, _ := strings.Cut(r.name, "/")
	with := r.settings
	if with.CloneURL == "" {
		with.CloneURL = web + r.name + ".git"
	}
	allows := func(style string) bool { return slices.Contains(with.Methods, style) }
	return map[string]any{
		"id": r.id, "name": short, "full_name": r.name, "owner": map[string]any{"id": 2, "login": owner(r.name), "username": owner(r.name)},
		"html_url": web + r.name, "clone_url": with.CloneURL, "default_branch": r.First(), "archived": with.Archived, "private": true,
		"permissions":         map[string]bool{"admin": with.Admin, "push": with.Push, "pull": true},
		"allow_merge_commits": allows("merge"), "allow_squash_merge": allows("squash"), "allow_rebase": allows("rebase"),
		"allow_rebase_explicit": allows("rebase-merge"), "allow_fast_forward_only_merge": allows("fast-forward-only"),
	}
}

// wireUser writes an account. Those of the server itself have ids below zero: here, all
// that are called like "lint[bot]".
func wireUser(login string) map[string]any {
	id := 99
	switch {
	case strings.HasSuffix(login, "[bot]"):
		id = -2
	case login == "Ghost":
		id = -1
	}
	return map[string]any{"id": id, "login": login, "username": login, "full_name": ""}
}

func (s *Server) wirePull(p *pull) map[string]any {
	r := s.repo(p.Repo)
	heads := r.Heads()
	head, state := p.HeadSHA, "closed"
	if p.Open {
		state = "open"
		if now := heads[p.Head]; now != "" && !p.fork {
			head = now
		}
	}
	from := map[string]any{"label": p.Head, "ref": p.Head, "sha": head, "repo_id": r.id, "repo": wireRepo(r)}
	if heads[p.Head] == "" {
		from["ref"] = fmt.Sprintf("refs/pull/%d/head", p.Number)
	}
	if p.fork {
		from["repo_id"], from["repo"] = -r.id, nil // as of one that was deleted since
	}
	out := map[string]any{
		"id": p.Number, "number": p.Number, "state": state, "title": p.Title, "body": p.Body, "user": wireUser(p.Author), "draft": false,
		"html_url": fmt.Sprintf("%s%s/pulls/%d", web, p.Repo, p.Number), "created_at": stamp(p.Created),
		"mergeable": mergeable(r, p), "merged": p.Merged, "merged_at": nil, "merge_commit_sha": nil,
		"head": from, "base": map[string]any{"label": p.Base, "ref": p.Base, "sha": heads[p.Base], "repo_id": r.id, "repo": wireRepo(r)},
		"merge_base": "",
	}
	if p.Open && !p.fork {
		out["merge_base"] = r.MergeBase(heads[p.Base], head)
	}
	if p.Merged {
		out["merged_at"], out["merge_commit_sha"] = stamp(p.MergeTime), p.MergeSHA
	}
	return out
}

func wireReview(r Review, p *pull) map[string]any {
	return map[string]any{
		"id": r.ID, "user": wireUser(r.Author), "team": nil, "state": r.State, "body": r.Body,
		"commit_id": r.SHA, "submitted_at": stamp(r.At),
		"stale": r.SHA != p.HeadSHA, "official": r.Official, "dismissed": r.Dismissed,
	}
}

func (s *Server) wirePullEvent(p *pull, action string) map[string]any {
	return map[string]any{
		"action": action, "number": p.Number, "pull_request": s.wirePull(p), "requested_reviewer": nil,
		"repository": wireRepo(s.repo(p.Repo)), "sender": wireUser("someone"), "commit_id": "", "review": nil,
	}
}

// wireReviewEvent has no id of the review and not its commit, as the real one.
func (s *Server) wireReviewEvent(p *pull, r Review, kind string) map[string]any {
	out := s.wirePullEvent(p, "reviewed")
	out["sender"], out["requested_reviewer"] = wireUser(r.Author), wireUser(r.Author)
	out["review"] = map[string]any{"type": "pull_request_review_" + kind, "content": r.Body}
	return out
}

func (s *Server) wireComment(p *pull, author, body string) map[string]any {
	return map[string]any{
		"action": "created", "is_pull": true, "comment": map[string]any{"id": 1, "user": wireUser(author), "body": body},
		"issue":        map[string]any{"number": p.Number, "title": p.Title, "pull_request": map[string]any{"merged": p.Merged}},
		"pull_request": s.wirePull(p), "repository": wireRepo(s.repo(p.Repo)), "sender": wireUser(author),
	}
}

func (s *Server) wirePush(r *repository, branch, before, after string) map[string]any {
	return map[string]any{
		"ref": "refs/heads/" + branch, "before": before, "after": after, "commits": []any{}, "total_commits": 0, "head_commit": nil,
		"repository": wireRepo(r), "pusher": wireUser("someone"), "sender": wireUser("someone"),
	}
}

func (s *Server) wireCreate(r *repository, branch, sha string) map[string]any {
	return map[string]any{"sha": sha, "ref": branch, "ref_type": "branch", "repository": wireRepo(r), "sender": wireUser("someone")}
}

func (s *Server) wireDelete(r *repository, branch string) map[string]any {
	return map[string]any{
		"ref": branch, "ref_type": "branch", "pusher_type": "user",
		"repository": wireRepo(r), "sender": wireUser("someone"),
	}
}

// wireStatusEvent names no branches, and calls state what the interface calls status.
func (s *Server) wireStatusEvent(r *repository, sha string, st status) map[string]any {
	return map[string]any{
		"id": st.id, "sha": sha, "commit": map[string]any{"id": sha}, "context": st.context, "state": st.state,
		"description": st.description, "target_url": st.target, "created_at": stamp(st.at), "updated_at": stamp(st.at),
		"repository": wireRepo(r), "sender": wireUser("ci"),
	}
}
