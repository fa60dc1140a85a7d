package fakeissues

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stamp is a moment in the hosts' form, which has whole seconds.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (s *Issues) wireUser(login string) map[string]any {
	out := map[string]any{"id": 1000 + len(login), "login": login}
	var known Person
	if n := slices.IndexFunc(s.people, func(p Person) bool { return strings.EqualFold(p.Login, login) }); n >= 0 {
		known = s.people[n]
	}
	if s.host.Gitea {
		out["username"], out["full_name"], out["email"] = login, known.Name, known.Email
		return out
	}
	out["type"] = "User"
	return out
}

func (s *Issues) wireLabel(l Label) map[string]any {
	out := map[string]any{"id": l.ID, "name": l.Name, "color": l.Color, "description": ""}
	if s.host.Gitea {
		out["exclusive"] = l.Exclusive
	}
	return out
}

func (s *Issues) wireLabels(list []Label) []any {
	out := []any{}
	for _, l := range list {
		out = append(out, s.wireLabel(l))
	}
	return out
}

func (s *Issues) wireRepo(name string) map[string]any {
	owner, short, _ := strings.Cut(name, "/")
	out := map[string]any{"id": 1, "name": short, "full_name": name, "owner": map[string]any{"login": owner}}
	return out
}

func (s *Issues) wireIssue(i *Issue) map[string]any {
	state := map[bool]string{true: "open", false: "closed"}[i.Open]
	out := map[string]any{
		"id": 5000 + i.Number, "number": i.Number, "title": i.Title, "body": i.Body, "state": state,
		"user": s.wireUser(i.Author), "labels": s.wireLabels(i.Labels),
		"comments": len(i.Comments), "created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "closed_at": nil,
		"html_url": fmt.Sprintf("https://git.example.org/%s/issues/%d", i.Repo, i.Number),
	}
	if i.Body == "" && !s.host.Gitea {
		out["body"] = nil
	}
	if s.host.Gitea {
		owner, short, _ := strings.Cut(i.Repo, "/")
		out["pull_request"], out["repository"] = nil, map[string]any{"id": 1, "name": short, "owner": owner, "full_name": i.Repo}
		return out
	}
	out["repository_url"] = "https://api.git.example.org/repos/" + i.Repo
	return out
}

// wirePull is a pull request in the form of an issue.
func (s *Issues) wirePull(repo string, p Pull) map[string]any {
	out := s.wireIssue(&Issue{Repo: repo, Number: p.Number, Title: p.Title, Open: p.Open, Author: "somebody", Created: p.At, Updated: p.At})
	out["pull_request"] = map[string]any{"merged_at": nil}
	return out
}

func (s *Issues) wireComment(c Comment) map[string]any {
	return map[string]any{
		"id": c.ID, "body": c.Body, "user": s.wireUser(c.Author),
		"created_at": stamp(c.At), "updated_at": stamp(c.Edited),
	}
}

// wireLog is the log of an issue; Gitea's has the comments too.
func (s *Issues) wireLog(i *Issue) (out []any) {
	for _, c := range i.Log {
		row := map[string]any{"id": c.ID, "created_at": stamp(c.At)}
		switch {
		case !s.host.Gitea:
			row["event"], row["actor"] = c.Kind, s.wireUser(c.Author)
		case c.Label.ID != 0:
			row["type"], row["user"], row["body"] = "label", s.wireUser(c.Author), map[string]string{"labeled": "1"}[c.Kind]
		default:
			row["type"], row["user"] = map[string]string{"closed": "close", "reopened": "reopen"}[c.Kind], s.wireUser(c.Author)
		}
		if c.Label.ID != 0 {
			row["label"] = s.wireLabel(c.Label)
		}
		out = append(out, row)
	}
	if s.host.Gitea {
		for _, c := range i.Comments {
			row := s.wireComment(c)
			row["type"], row["label"] = "comment", nil
			out = append(out, row)
		}
	}
	return out
}

// sendIssue sends a webhook of an issue; label is the one that it is about.
func (s *Issues) sendIssue(i *Issue, action, sender string, label *Label) {
	payload := map[string]any{"action": action, "issue": s.wireIssue(i), "repository": s.wireRepo(i.Repo), "sender": s.wireUser(sender)}
	event := "issues"
	if s.host.Gitea {
		payload["number"], payload["commit_id"] = i.Number, ""
		if action == "label_updated" {
			event = "issue_label"
		}
	}
	if label != nil {
		payload["label"] = s.wireLabel(*label)
	}
	s.host.Send(event, payload)
}

func (s *Issues) sendComment(i *Issue, c Comment, action, sender string) {
	payload := map[string]any{
		"action": action, "issue": s.wireIssue(i), "comment": s.wireComment(c),
		"repository": s.wireRepo(i.Repo), "sender": s.wireUser(sender),
	}
	if s.host.Gitea {
		payload["is_pull"] = false
	}
	s.host.Send("issue_comment", payload)
}
