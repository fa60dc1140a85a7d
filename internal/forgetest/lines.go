package forgetest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

// lineComments answers with the newest first, as it is called.
func (c *call) lineComments() {
	rows := []any{}
	for i, l := range slices.Backward(c.p.lines) {
		rows = append(rows, c.wireLine(i+1, l))
	}
	c.list(rows)
}

func (s *Server) wireLine(id int, l LineComment) object {
	out := object{
		"id": id, "user": s.wireUser(l.Author), "author_association": "NONE", "side": "RIGHT",
		"path": l.Path, "body": l.Body, "commit_id": l.SHA, "created_at": stamp(s.opt.Now()),
	}
	if l.Line > 0 { // else it is on the file
		out["line"] = l.Line
	}
	if l.Old {
		out["side"] = "LEFT"
	}
	if l.Answers != 0 {
		out["in_reply_to_id"] = l.Answers
	}
	return out
}

// answerLine adds an answer to a thread. A comment that is none begins another one, and no answer can be answered.
func (c *call) answerLine() {
	var in struct{ Body string }
	if !c.decode(&in) {
		return
	}
	to, _ := strconv.Atoi(c.r.PathValue("id"))
	if to < 1 || to > len(c.p.lines) || c.p.lines[to-1].Answers != 0 { // no comment that begins a thread
		c.fail(c.notFound)
		return
	}
	l := c.p.lines[to-1]
	l.Author, l.Body, l.Answers, l.Resolved = c.login(c.r), in.Body, to, false
	c.p.lines = append(c.p.lines, l)
	c.reply(http.StatusCreated, c.wireLine(len(c.p.lines), l))
}

// of are the places of the comments that a review of Gitea has.
func (p *pull) of(review int) (out []int) {
	for i, l := range p.lines {
		if l.review == review {
			out = append(out, i)
		}
	}
	return out
}

// reviewLines adds a review of Gitea, with comments: what is on one line of a file is one conversation.
func (s *Server) reviewLines(p *pull, r Review, lines ...LineComment) Review {
	r.ID, r.At = s.id(), s.opt.Now()
	p.reviews = append(p.reviews, r)
	for _, l := range lines {
		l.Author, l.review, l.SHA = r.Author, r.ID, r.SHA
		first := slices.IndexFunc(p.lines, func(k LineComment) bool { return k.Path == l.Path && k.Line == l.Line && k.Old == l.Old })
		l.Answers = first + 1
		p.lines = append(p.lines, l)
	}
	event := s.wirePullEvent(p, s.reviewed)
	event["sender"], event["review"] = s.wireUser(r.Author), object{"type": "pull_request_review_comment", "content": r.Body}
	s.send("pull_request_review_comment", event)
	return r
}

// createReview takes a review that judges nothing: what its account says, of the whole or of lines.
func (c *call) createReview() {
	var in struct {
		Event, Body string
		Commit      string `json:"commit_id"`
		Comments    []struct {
			Path, Body string
			Line       int `json:"new_position"`
			Old        int `json:"old_position"`
		}
	}
	if !c.decode(&in) {
		return
	}
	if in.Event != "COMMENT" || in.Body == "" && len(in.Comments) == 0 {
		c.fail(refusal{status: http.StatusUnprocessableEntity, text: "review event COMMENT requires a body or a comment"})
		return
	}
	in.Commit = cmp.Or(in.Commit, c.p.HeadSHA)
	var lines []LineComment
	for _, k := range in.Comments {
		lines = append(lines, LineComment{Path: k.Path, Body: k.Body, Line: max(k.Line, k.Old), Old: k.Old > 0})
	}
	c.ok(c.wireReview(c.reviewLines(c.p, Review{Author: c.login(c.r), State: "COMMENT", SHA: in.Commit, Body: in.Body}, lines...), c.p))
}

// reviewComments lists the comments of a review of Gitea.
func (c *call) reviewComments() {
	id, _ := strconv.Atoi(c.r.PathValue("id"))
	rows := []any{}
	for _, i := range c.p.of(id) {
		l := c.p.lines[i]
		out := object{
			"id": i + 1, "body": l.Body, "user": c.wireUser(l.Author), "resolver": nil, "pull_request_review_id": id, "path": l.Path,
			"commit_id": l.SHA, "position": l.Line, "original_position": 0, "created_at": stamp(c.opt.Now()),
		}
		if l.Old {
			out["position"], out["original_position"] = 0, l.Line
		}
		if l.Resolved {
			out["resolver"] = c.wireUser(Self)
		}
		rows = append(rows, out)
	}
	c.ok(rows)
}

// resolveLine resolves a conversation of Gitea, of any pull request of the repository; Forgejo cannot.
func (c *call) resolveLine() {
	id, _ := strconv.Atoi(c.r.PathValue("id"))
	for _, p := range c.pulls {
		if p.repo == c.at && id >= 1 && id <= len(p.lines) && !c.opt.Forgejo {
			p.lines[id-1].Resolved = true
			c.w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	c.fail(c.notFound)
}
