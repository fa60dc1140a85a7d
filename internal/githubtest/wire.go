package githubtest

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

func (s *Server) wireRepo(name string) map[string]any {
	name = s.repo(name).called
	_, short, _ := strings.Cut(name, "/")
	return map[string]any{
		"id": 1, "name": short, "full_name": name, "owner": map[string]any{"login": owner(name)}, "default_branch": "main",
	}
}

func wireUser(login string) map[string]any {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "id": 99, "type": kind}
}

func (s *Server) wirePull(p *Pull) map[string]any {
	head, state := p.HeadSHA, "closed"
	if p.Open {
		state = "open"
		if now := s.repo(p.Repo).Heads()[p.Head]; now != "" {
			head = now
		}
	}
	out := map[string]any{
		"id": p.Number, "number": p.Number, "state": state, "title": p.Title, "body": p.Body, "user": wireUser(p.Author),
		"draft": s.standing(p) == "draft", "mergeable_state": s.standing(p),
		"merged": p.Merged, "merged_at": nil, "merge_commit_sha": nil,
		"html_url":   "https://github.example.org/" + p.Repo + "/pull/" + strconv.Itoa(p.Number),
		"created_at": p.Created.UTC().Format(time.RFC3339),
		"head":       map[string]any{"ref": p.Head, "sha": head, "label": owner(p.Repo) + ":" + p.Head, "repo": s.wireRepo(p.Repo)},
		"base":       map[string]any{"ref": p.Base, "sha": s.repo(p.Repo).Heads()[p.Base], "repo": s.wireRepo(p.Repo)},
	}
	if p.Merged {
		out["merged_at"], out["merge_commit_sha"] = p.MergeTime.UTC().Format(time.RFC3339), p.MergeSHA
	}
	return out
}

// standing is GitHub's mergeable_state.
func (s *Server) standing(p *Pull) string {
	r := s.repo(p.Repo)
	_, conflict := r.Tree(r.Heads()[p.Base], r.Heads()[p.Head])
	switch with := r.settings; {
	case !p.Open:
		return "unknown"
	case with.Standing == "" && with.Queue:
		return "blocked"
	case with.Standing == "" && conflict != nil:
		return "dirty"
	default:
		return cmp.Or(with.Standing, "clean")
	}
}

func (s *Server) wirePullEvent(p *Pull, action string) map[string]any {
	return map[string]any{
		"action": action, "number": p.Number, "pull_request": s.wirePull(p),
		"repository": s.wireRepo(p.Repo), "sender": wireUser("someone"),
	}
}

// wireReview encodes a review. Every account with a role is MEMBER: it is a filter, and no more.
func (s *Server) wireReview(r Review, state string) map[string]any {
	association := "NONE"
	if _, named := s.roles[r.Author]; named {
		association = "MEMBER"
	}
	return map[string]any{
		"id": r.ID, "user": wireUser(r.Author), "author_association": association,
		"body": r.Body, "state": state, "commit_id": r.SHA, "submitted_at": r.At.UTC().Format(time.RFC3339Nano),
	}
}

// wireReviewEvent writes the state in lower case, as webhooks do.
func (s *Server) wireReviewEvent(p *Pull, r Review) map[string]any {
	return map[string]any{
		"action": "submitted", "review": s.wireReview(r, strings.ToLower(r.State)), "pull_request": s.wirePull(p),
		"repository": s.wireRepo(p.Repo), "sender": wireUser(r.Author),
	}
}

func (s *Server) wirePush(r *repository, branch, before, after string) map[string]any {
	gone := strings.Trim(after, "0") == ""
	out := map[string]any{
		"ref": "refs/heads/" + branch, "before": before, "after": after,
		"created": strings.Trim(before, "0") == "", "deleted": gone, "forced": false,
		"repository": s.wireRepo(r.name), "sender": wireUser("someone"), "commits": []any{}, "head_commit": nil,
	}
	return out
}

func wireCheck(c checkRun, sha, branch string) map[string]any {
	var result any
	if c.conclusion != "" {
		result = c.conclusion
	}
	inSuite := map[string]any{"id": suiteID(c.app), "head_branch": branch, "head_sha": sha}
	return map[string]any{
		"id": c.id, "name": c.name, "head_sha": sha, "status": c.status, "conclusion": result,
		"html_url": "https://github.example.org/checks/" + strconv.Itoa(c.id),
		"output":   map[string]any{"title": c.title}, "check_suite": inSuite, "pull_requests": []any{},
		"app": wireApp(c.app),
	}
}

func (s *Server) wireCheckEvent(r *repository, branch, sha string, c checkRun, action string) map[string]any {
	return map[string]any{
		"action": action, "check_run": wireCheck(c, sha, branch), "repository": s.wireRepo(r.name), "sender": wireUser("ci"),
	}
}

func (s *Server) wireSuiteEvent(r *repository, branch, sha string, c checkRun) map[string]any {
	return map[string]any{
		"action": "completed",
		"check_suite": map[string]any{
			"id": c.id, "head_branch": branch, "head_sha": sha,
			"status": "completed", "conclusion": c.conclusion, "pull_requests": []any{},
		},
		"repository": s.wireRepo(r.name), "sender": wireUser("ci"),
	}
}

// wireStatusEvent lists the branches at the commit, and one that only contains
// it, as the real one does.
func (s *Server) wireStatusEvent(r *repository, sha, contextName, state string) map[string]any {
	branches := []any{map[string]any{"name": "release/contains-it", "commit": map[string]any{"sha": strings.Repeat("f", 40)}}}
	for branch, head := range r.Heads() {
		if head == sha {
			branches = append(branches, map[string]any{"name": branch, "commit": map[string]any{"sha": head}})
		}
	}
	return map[string]any{
		"id": 1, "sha": sha, "name": r.name, "context": contextName, "state": state, "description": nil, "branches": branches,
		"commit": map[string]any{"sha": sha}, "repository": s.wireRepo(r.name), "sender": wireUser("ci"),
	}
}
