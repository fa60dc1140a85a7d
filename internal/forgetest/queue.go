package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// place is that of a pull request in the merge queue, from 1; 0 = it is not there.
func (p *pull) place() int { return 1 + slices.Index(p.repo.queue, p) }

func (p *pull) entry() any {
	if p.place() == 0 {
		return nil
	}
	return object{"position": p.place()}
}

// enqueue puts a pull request into the queue, or returns why not.
func (s *Server) enqueue(p *pull, head string) string {
	with, heads := p.repo.settings, p.repo.Heads()
	_, conflict := p.repo.Tree(heads[p.Base], heads[p.Head])
	switch {
	case p.place() > 0:
		return "Pull request is already in the merge queue"
	case !with.Queue:
		return "The merge queue is not enabled for " + p.Base
	case heads[p.Head] != head:
		return "Head sha didn't match expected"
	case !p.Open, p.isDraft(), conflict != nil, s.unapproved(p) > 0, with.Conversations && p.unresolved():
		return "Pull request is not mergeable"
	case with.Refusal != "":
		return with.Refusal
	}
	p.repo.queue = append(p.repo.queue, p)
	s.send("pull_request", s.wirePullEvent(p, "enqueued"))
	s.send("merge_group", s.event(p.repo, "github-merge-queue[bot]", object{"action": "checks_requested", "merge_group": object{
		"head_ref": fmt.Sprintf("refs/heads/gh-readonly-queue/%s/pr-%d-%s", p.Base, p.Number, heads[p.Base]), "base_sha": heads[p.Base],
	}}))
	return ""
}

// unqueue removes a pull request from the queue, by an account and for a reason in the words of timelines. The group is the commit
// that was built. It reports whether it was there.
func (s *Server) unqueue(p *pull, who, reason, group string) bool {
	at := p.place() - 1
	if at < 0 {
		return false
	}
	p.repo.queue = slices.Delete(p.repo.queue, at, at+1)
	p.removal = object{"createdAt": stamp(s.opt.Now()), "reason": reason, "actor": object{"login": who}, "beforeCommit": nil}
	if group != "" {
		p.removal["beforeCommit"] = object{"oid": group}
	}
	event := s.wirePullEvent(p, "dequeued")
	event["reason"] = map[string]string{"FAILED_CHECKS": "CI_FAILURE", "DEQUEUED": "MANUAL"}[reason]
	s.send("pull_request", event)
	return true
}

func (c *call) wireQueued(p *pull) object {
	head, merged, removals := p.HeadSHA, any(nil), []any{}
	if now := p.repo.Heads()[p.Head]; now != "" && p.Open {
		head = now
	}
	if p.Merged {
		merged = object{"oid": p.MergeSHA}
	}
	if p.removal != nil {
		removals = append(removals, p.removal)
	}
	return object{
		"id": fmt.Sprintf("PR_%d", p.Number), "merged": p.Merged, "headRefOid": head, "mergeCommit": merged,
		"mergeQueueEntry": p.entry(), "timelineItems": object{"nodes": removals},
	}
}

// Queued lists the branches of the pull requests in the merge queue of a repository.
func (s *Server) Queued(repo string) (branches []string) {
	defer s.lock()()
	for _, p := range s.repo(repo).queue {
		branches = append(branches, p.Head)
	}
	return branches
}

// Enqueue puts a branch's pull request into the queue, as a person would.
func (s *Server) Enqueue(repo, branch string) error {
	defer s.lock()()
	p := s.pull(repo, branch)
	if no := s.enqueue(p, s.repo(repo).Heads()[branch]); no != "" {
		return errors.New("forgetest: " + no)
	}
	return nil
}

// BuildGroup ends the build of the first pull request in the queue on the newest base. It is merged, or removed with the check run
// of a name that has failed.
func (s *Server) BuildGroup(repo, failed string) error {
	defer s.lock()()
	r := s.repo(repo)
	if len(r.queue) == 0 {
		return errors.New("forgetest: the merge queue is empty")
	}
	p := r.queue[0]
	heads := r.Heads()
	tree, err := r.Tree(heads[p.Base], heads[p.Head])
	if err != nil {
		s.unqueue(p, "github-merge-queue[bot]", "MERGE_CONFLICT", "")
		return nil
	}
	if failed == "" {
		s.unqueue(p, "github-merge-queue[bot]", "MERGE", "")
		_, err = s.merge(p, r.settings.Methods[0], p.Title, "")
		return err
	}
	group, err := r.Git("commit-tree", tree, "-m", p.Title, "-p", heads[p.Base], "-p", heads[p.Head])
	sha := strings.TrimSpace(string(group))
	r.commit(sha).report(checkRun{id: s.id(), app: Actions, name: failed, status: "completed", conclusion: "failure"})
	s.unqueue(p, "github-merge-queue[bot]", "FAILED_CHECKS", sha)
	return err
}
