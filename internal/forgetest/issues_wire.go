package forgetest

func (s *Server) wireLabel(l Label) object {
	out := object{"id": l.ID, "name": l.Name, "color": l.Color, "description": ""}
	if s.gitea {
		out["exclusive"] = l.Exclusive
	}
	return out
}

func wired[T any](list []T, wire func(T) object) []any {
	out := []any{}
	for _, one := range list {
		out = append(out, wire(one))
	}
	return out
}

func (s *Server) wireIssue(i *Issue) object {
	r := s.repo(i.Repo)
	out := object{
		"id": 5000 + i.Number, "number": i.Number, "title": i.Title, "body": i.Body, "user": s.wireUser(i.Author),
		"state": map[bool]string{true: "open", false: "closed"}[i.Open], "labels": wired(i.Labels, s.wireLabel),
		"comments": len(i.Comments), "created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "closed_at": nil,
		"html_url": s.address(r, "issues", i.Number),
	}
	if s.gitea {
		short := s.wireRepo(r)["name"]
		out["pull_request"], out["repository"] = nil, object{"id": r.id, "name": short, "owner": owner(r.called), "full_name": r.called}
		return out
	}
	out["body"], out["repository_url"] = optional(i.Body), "https://api.github.example.org/repos/"+r.called
	return out
}

// wirePullIssue is a pull request in the form of an issue.
func (s *Server) wirePullIssue(p *pull) object {
	out := s.wireIssue(&Issue{
		Repo: p.Repo, Number: p.Number, Title: p.Title, Open: p.Open, Author: "somebody", Created: p.Created, Updated: p.Created,
	})
	out["pull_request"] = object{"merged_at": nil}
	return out
}

func (s *Server) wireComment(c Comment) object {
	return object{
		"id": c.ID, "body": c.Body, "user": s.wireUser(c.Author),
		"created_at": stamp(c.At), "updated_at": stamp(c.Edited),
	}
}

// wireLog is the log of an issue; Gitea's has the comments too.
func (s *Server) wireLog(i *Issue) (out []any) {
	for _, c := range i.Log {
		row := object{"id": c.ID, "created_at": stamp(c.At)}
		switch {
		case !s.gitea:
			row["event"], row["actor"] = c.Kind, s.wireUser(c.Author)
		case c.Label.ID != 0:
			row["type"], row["user"], row["body"] = "label", s.wireUser(c.Author), map[string]string{"labeled": "1"}[c.Kind]
		default:
			row["type"], row["user"] = map[string]string{"closed": "close", "reopened": "reopen"}[c.Kind], s.wireUser(c.Author)
		}
		if c.Label.ID != 0 {
			row["label"] = s.wireLabel(c.Label)
			if !s.gitea {
				row["label"] = object{"name": c.Label.Name, "color": c.Label.Color}
			}
		}
		out = append(out, row)
	}
	for _, c := range i.Comments {
		if s.gitea {
			row := s.wireComment(c)
			row["type"], row["label"] = "comment", nil
			out = append(out, row)
		}
	}
	return out
}

// sendIssue sends a webhook of an issue; label is the one that it is about.
func (s *Server) sendIssue(i *Issue, action, sender string, label *Label) {
	payload, kind := object{"action": action, "issue": s.wireIssue(i)}, "issues"
	if s.gitea {
		payload["number"], payload["commit_id"] = i.Number, ""
		if action == "label_updated" {
			kind = "issue_label"
		}
	}
	if label != nil {
		payload["label"] = s.wireLabel(*label)
	}
	s.send(kind, s.event(s.repo(i.Repo), sender, payload))
}

func (s *Server) sendComment(i *Issue, c Comment, action, sender string) {
	payload := object{"action": action, "issue": s.wireIssue(i), "comment": s.wireComment(c)}
	if s.gitea {
		payload["is_pull"] = false
	}
	s.send("issue_comment", s.event(s.repo(i.Repo), sender, payload))
}
