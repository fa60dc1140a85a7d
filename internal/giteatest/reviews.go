package giteatest

import (
	"errors"
	"fmt"
	"net/http"
)

func (s *Server) reviewRoutes() routes {
	return routes{"GET /pulls/{number}/reviews": s.listReviews}
}

func (p *pull) key() string { return fmt.Sprintf("%s#%d", p.Repo, p.Number) }

func (s *Server) listReviews(w http.ResponseWriter, r *http.Request, repo *repository) {
	p := s.numbered(w, r, repo)
	if p == nil {
		return
	}
	rows := []any{}
	for _, v := range s.reviews[p.key()] {
		rows = append(rows, wireReview(v, p))
	}
	pages(w, r, rows)
}

func (r Review) judges() bool { return r.State == "APPROVED" || r.State == "REQUEST_CHANGES" }

// Review submits a review of a branch's newest pull request, as a person would; an empty
// sha is the head. The state is Gitea's word, or GitHub's: CHANGES_REQUESTED, COMMENTED,
// or DISMISSED for an approval that was dismissed. A judgement dismisses the author's
// former ones, and is official when the author may write.
func (s *Server) Review(repo, branch, author, state, sha, body string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil {
		return errors.New("giteatest: the branch has no pull request")
	}
	if sha == "" {
		sha = p.HeadSHA
	}
	s.ids++
	r := Review{ID: s.ids, Author: author, State: state, SHA: sha, Body: body, At: s.opt.Now()}
	if own := map[string]string{"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT", "DISMISSED": "APPROVED"}[state]; own != "" {
		r.State, r.Dismissed = own, state == "DISMISSED"
	}
	if r.judges() {
		for i, v := range s.reviews[p.key()] {
			if v.Author == author && v.judges() {
				v.Official, v.Dismissed = false, true
				s.reviews[p.key()][i] = v
			}
		}
		r.Official = s.mayWrite(author)
	}
	s.reviews[p.key()] = append(s.reviews[p.key()], r)
	kinds := map[string]string{"APPROVED": "approved", "REQUEST_CHANGES": "rejected", "COMMENT": "comment"}
	if kind := kinds[r.State]; kind != "" && !r.Dismissed {
		s.hook("pull_request_"+kind, "pull_request_review_"+kind, s.wireReviewEvent(p, r, kind))
	}
	return nil
}

// approvals counts the official ones.
func (s *Server) approvals(p *pull) (n int) {
	for _, r := range s.reviews[p.key()] {
		if r.State == "APPROVED" && r.Official && !r.Dismissed {
			n++
		}
	}
	return n
}

// Comment writes a comment on a branch's newest pull request, as a person would.
func (s *Server) Comment(repo, branch, author, body string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil {
		return errors.New("giteatest: the branch has no pull request")
	}
	s.hook("issue_comment", "pull_request_comment", s.wireComment(p, author, body))
	return nil
}
