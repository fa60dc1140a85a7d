package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Review is a review of a pull request.
type Review struct {
	ID                       int
	Author, State, SHA, Body string // State in the host's words
	Official, Dismissed      bool   // Gitea
	At                       time.Time
}

func (r Review) judges() bool { return r.State == "APPROVED" || r.State == "REQUEST_CHANGES" }

func (c *call) listReviews() {
	rows := []any{}
	for _, v := range c.p.reviews {
		rows = append(rows, c.wireReview(v, c.p))
	}
	c.list(rows)
}

// Review submits a review of a branch's newest pull request, as a person would; an empty
// sha is the head. The state is GitHub's word, APPROVED, CHANGES_REQUESTED, COMMENTED or
// DISMISSED, or Gitea's: at Gitea they mean APPROVED, REQUEST_CHANGES, COMMENT, and an approval
// that was dismissed. There a judgement dismisses the author's former ones, and is official
// when the author may write.
func (s *Server) Review(repo, branch, author, state, sha, body string) error {
	defer s.lock()()
	p := s.pull(repo, branch)
	if p == nil {
		return errNoPull
	}
	sha = cmp.Or(sha, p.HeadSHA)
	r := Review{ID: s.id(), Author: author, State: state, SHA: sha, Body: body, At: s.opt.Now()}
	if s.gitea {
		s.judge(p, &r)
	}
	p.reviews = append(p.reviews, r)
	event, kind := s.wirePullEvent(p, s.reviewed), "pull_request_review"
	event["sender"] = s.wireUser(author)
	if !s.gitea {
		delete(event, "number")
		review := s.wireReview(r, p)
		review["state"] = strings.ToLower(state)
		event["review"] = review
	} else {
		word := map[string]string{"APPROVED": "approved", "REQUEST_CHANGES": "rejected", "COMMENT": "comment"}[r.State]
		if word == "" || r.Dismissed {
			return nil
		}
		// It has no id of the review and not its commit, as the real one.
		kind += "_" + word
		event["requested_reviewer"], event["review"] = s.wireUser(author), object{"type": kind, "content": body}
	}
	s.send(kind, event)
	return nil
}

// judge makes a review that of Gitea.
func (s *Server) judge(p *pull, r *Review) {
	own := map[string]string{"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT", "DISMISSED": "APPROVED"}[r.State]
	if own != "" {
		r.State, r.Dismissed = own, r.State == "DISMISSED"
	}
	if !r.judges() {
		return
	}
	for i := range p.reviews {
		if v := &p.reviews[i]; v.Author == r.Author && v.judges() {
			v.Official, v.Dismissed = false, true
		}
	}
	r.Official = slices.Contains([]string{"write", "admin"}, s.role(r.Author))
}

// unapproved counts the approvals that a merge of a pull request lacks: those of people who may write, at Gitea the official ones.
func (s *Server) unapproved(p *pull) int {
	if _, protected := p.repo.settings.Required[p.Base]; !protected {
		return 0
	}
	has := map[string]bool{}
	for _, r := range p.reviews {
		may := r.Official || !s.gitea && r.Author != p.Author && slices.Contains([]string{"write", "admin"}, s.role(r.Author))
		if r.judges() || r.State == "CHANGES_REQUESTED" || r.State == "DISMISSED" {
			delete(has, r.Author)
		}
		if r.State == "APPROVED" && may && !r.Dismissed {
			has[r.Author] = true
		}
	}
	return p.repo.settings.Approvals - len(has)
}

// reviewRules answers with the reviews that a branch's protection demands, which GitHub shows to administrators alone.
func (c *call) reviewRules() {
	_, protected := c.at.settings.Required[c.r.PathValue("branch")]
	if !protected || !c.at.settings.Admin {
		c.fail(c.notFound)
		return
	}
	c.ok(object{"required_approving_review_count": c.at.settings.Approvals, "require_code_owner_reviews": false})
}

func (s *Server) wireReview(r Review, p *pull) object {
	out := object{
		"id": r.ID, "user": s.wireUser(r.Author), "body": r.Body, "state": r.State,
		"commit_id": r.SHA, "submitted_at": r.At.UTC().Format(s.moment),
	}
	if s.gitea {
		out["team"], out["stale"], out["official"], out["dismissed"] = nil, r.SHA != p.HeadSHA, r.Official, r.Dismissed
		out["comments_count"] = len(p.of(r.ID))
		return out
	}
	// Every account with a role is MEMBER: it is a filter, and no more.
	out["author_association"] = "NONE"
	if _, named := s.roles[r.Author]; named {
		out["author_association"] = "MEMBER"
	}
	return out
}

// LineComment is a comment on a line of a pull request.
type LineComment struct {
	Author, Path, Body, SHA string
	Line                    int  // 0 = of the file
	Old                     bool // on the left of the diff
	Answers                 int  // the comment that it answers; 0 = it begins a thread
	Resolved                bool // the thread
	review                  int  // that it is of, at Gitea
}

// Comment comments on a branch's pull request, as a person would: on a line of it, or with no path at Gitea on all of it.
func (s *Server) Comment(repo, branch string, c LineComment) error {
	defer s.lock()()
	p := s.pull(repo, branch)
	if p == nil {
		return errNoPull
	}
	switch {
	case !s.gitea:
		p.lines = append(p.lines, c)
	case c.Path != "":
		s.reviewLines(p, Review{Author: c.Author, State: "COMMENT", SHA: cmp.Or(c.SHA, p.HeadSHA)}, c)
	default:
		s.send("pull_request_comment", s.event(p.repo, c.Author, object{
			"action": "created", "is_pull": true, "comment": object{"id": 1, "user": s.wireUser(c.Author), "body": c.Body},
			"issue":        object{"number": p.Number, "title": p.Title, "pull_request": object{"merged": p.Merged}},
			"pull_request": s.wirePull(p),
		}))
	}
	return nil
}

// LineComments are the comments on lines of a branch's pull request, in order.
func (s *Server) LineComments(repo, branch string) []LineComment {
	defer s.lock()()
	return slices.Clone(s.pull(repo, branch).lines)
}

// ResolveThread is a person resolving the thread that a comment has begun, by its number from 1.
func (s *Server) ResolveThread(repo, branch string, number int) {
	defer s.lock()()
	p := s.pull(repo, branch)
	if p.lines[number-1].Resolved = true; s.gitea {
		return // and tells nobody
	}
	event := s.wirePullEvent(p, "resolved")
	delete(event, "number")
	event["thread"] = object{"node_id": p.threadID(number), "comments": []any{s.wireLine(number, p.lines[number-1])}}
	s.send("pull_request_review_thread", event)
}

func (p *pull) threadID(number int) string { return fmt.Sprintf("PRRT_%d_%d", p.Number, number) }

// unresolved reports whether a thread of the pull request is.
func (p *pull) unresolved() bool {
	return slices.ContainsFunc(p.lines, func(l LineComment) bool { return l.Answers == 0 && !l.Resolved })
}

// graphql serves what the REST API does not have: the threads of pull requests and their resolution, and the merge queue.
func (c *call) graphql() {
	var in struct {
		Query     string
		Variables struct {
			Owner, Name, ID, Head, Branch string
			Number                        int
		}
	}
	if !c.decode(&in) {
		return
	}
	no := func(kind, text string) {
		c.ok(object{"data": nil, "errors": []any{object{"type": kind, "message": text}}})
	}
	with, number, root := in.Variables, in.Variables.Number, 0
	mutates := strings.HasPrefix(in.Query, "mutation")
	if mutates {
		_, _ = fmt.Sscanf(with.ID, "PR_%d", &number)
		_, _ = fmt.Sscanf(with.ID, "PRRT_%d_%d", &number, &root)
	}
	if r := c.repo(with.Owner + "/" + with.Name); r != nil && strings.Contains(in.Query, "mergeQueue(") {
		queue := any(nil)
		if r.settings.Queue {
			queue = object{"id": "MQ_1"}
		}
		c.ok(object{"data": object{"repository": object{"mergeQueue": queue}}})
		return
	}
	at := slices.IndexFunc(c.pulls, func(p *pull) bool {
		return p.Number == number && (mutates || strings.EqualFold(p.repo.called, with.Owner+"/"+with.Name))
	})
	if at < 0 {
		no("NOT_FOUND", "Could not resolve to a node.")
		return
	}
	p := c.pulls[at]
	if mutates && !p.repo.settings.Push {
		no("FORBIDDEN", "Resource not accessible by personal access token")
		return
	}
	switch {
	case strings.Contains(in.Query, "enqueuePullRequest("):
		if text := c.enqueue(p, with.Head); text != "" {
			no("UNPROCESSABLE", text)
			return
		}
		c.ok(object{"data": object{"enqueuePullRequest": object{"mergeQueueEntry": p.entry()}}})
	case strings.Contains(in.Query, "dequeuePullRequest("):
		if !c.unqueue(p, c.login(c.r), "DEQUEUED", "") {
			no("UNPROCESSABLE", "Pull request is not in the merge queue")
			return
		}
		c.ok(object{"data": object{"dequeuePullRequest": object{"mergeQueueEntry": object{"id": "MQE_1"}}}})
	case strings.Contains(in.Query, "mergeQueueEntry"):
		c.ok(object{"data": object{"viewer": object{"login": c.login(c.r)}, "repository": object{"pullRequest": c.wireQueued(p)}}})
	case strings.Contains(in.Query, "resolveReviewThread(") && root >= 1 && root <= len(p.lines):
		p.lines[root-1].Resolved = true
		c.ok(object{"data": object{"resolveReviewThread": object{"thread": object{"id": with.ID}}}})
	case strings.Contains(in.Query, "reviewThreads("):
		c.ok(object{"data": object{"repository": object{"pullRequest": object{"reviewThreads": p.threads()}}}})
	default:
		no("NOT_FOUND", "Could not resolve to a node.")
	}
}

// threads are the conversations of a pull request, on one page.
func (p *pull) threads() object {
	threads := []any{}
	for i, l := range p.lines {
		if l.Answers != 0 {
			continue
		}
		said := []any{}
		for n, k := range p.lines {
			if n == i || k.Answers == i+1 {
				said = append(said, object{"databaseId": n + 1, "body": k.Body})
			}
		}
		threads = append(threads, object{"id": p.threadID(i + 1), "isResolved": l.Resolved, "comments": object{"nodes": said}})
	}
	return object{"pageInfo": object{"hasNextPage": false, "endCursor": nil}, "nodes": threads}
}

// Comments are the comments on a pull request, at Gitea the words of its reviews, in order.
func (s *Server) Comments(repo string, number int) (out []string) {
	defer s.lock()()
	for _, p := range s.pulls {
		if strings.EqualFold(p.Repo, repo) && p.Number == number {
			for _, c := range p.said {
				out = append(out, c.Body)
			}
			for _, r := range p.reviews {
				if s.gitea && r.Body != "" {
					out = append(out, r.Body)
				}
			}
		}
	}
	return out
}

// SetRole sets what an account may do in all repositories: admin, write, read or none.
// An account without a role may read, as on a public repository.
func (s *Server) SetRole(login, role string) {
	defer s.lock()()
	s.roles[login] = role
}

func (s *Server) role(login string) string {
	if role, set := s.roles[login]; set {
		return role
	}
	return "read"
}

// permission answers for an account that exists; "ghost" does not. Gitea answers to
// administrators of the repository, and to others for their own.
func (c *call) permission() {
	login := c.r.PathValue("login")
	switch {
	case c.gitea && !c.at.settings.Admin && login != Self:
		c.fail(refusal{status: http.StatusForbidden, text: "Only admins can query all permissions, " +
			"repo admins can query all repo permissions, collaborators can query only their own"})
	case login == "ghost":
		c.fail(c.noAccount)
	default:
		c.ok(object{"permission": c.role(login), "role_name": c.role(login), "user": c.wireUser(login)})
	}
}

// address is that of a page of a repository.
func (s *Server) address(r *repository, kind string, number int) string {
	return fmt.Sprintf("%s%s/%s/%d", s.web, r.called, kind, number)
}
