package github

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Signature implements githost.Receiver. Only the SHA-256 signature counts; without
// secrets nothing passes, unless Options.Insecure says so.
func (c *Client) Signature(h http.Header) (*signature.Check, error) {
	if len(c.opt.Secrets) == 0 && c.opt.Insecure {
		return signature.Anybody(), nil
	}
	text, ok := strings.CutPrefix(h.Get(gh.SHA256SignatureHeader), "sha256=")
	given, err := hex.DecodeString(text)
	if !ok || err != nil || len(given) != signature.Size {
		return nil, signature.ErrMissing
	}
	return c.opt.Secrets.Check(given), nil
}

// Delivery implements githost.Receiver. The id stays when GitHub sends again.
func (c *Client) Delivery(h http.Header) (id, event string) {
	return h.Get(gh.DeliveryIDHeader), h.Get(gh.EventTypeHeader)
}

// Decode implements githost.Receiver.
func (c *Client) Decode(event string, body []byte) (githost.Hook, error) {
	if gh.EventForType(event) == nil {
		if !json.Valid(body) {
			return githost.Hook{}, errors.New("github: the payload is not JSON")
		}
		return githost.Hook{Kind: githost.HookOther, Event: event}, nil
	}
	parsed, err := gh.ParseWebHook(event, body)
	if err != nil {
		return githost.Hook{}, fmt.Errorf("github: the payload of %q cannot be read: %w", event, err)
	}
	h := decode(parsed)
	h.Event, h.Unsigned = event, len(c.opt.Secrets) == 0 && c.opt.Insecure
	if h.Kind == githost.HookOther {
		return h, nil
	}
	if lacks := missing(h); lacks != "" {
		return githost.Hook{}, fmt.Errorf("github: a webhook of %q without %s", event, lacks)
	}
	return h, nil
}

// missing names what a hook of its kind always has.
func missing(h githost.Hook) string {
	about := h.Kind == githost.HookReview || h.Kind == githost.HookMerged
	switch {
	case h.Repo == "":
		return "a repository"
	case h.SHA == "" && (about || h.Kind == githost.HookCI):
		return "a commit"
	case h.Number == 0 && (about || h.Kind == githost.HookPullRequest || h.Kind == githost.HookComment):
		return "a number"
	case h.MergeSHA == "" && h.Kind == githost.HookMerged:
		return "a merge commit"
	case h.State == "" && h.Kind == githost.HookReview:
		return "a state"
	default:
		return ""
	}
}

func decode(parsed any) githost.Hook {
	switch e := parsed.(type) {
	case *gh.StatusEvent:
		return statusHook(e)
	case *gh.CheckRunEvent:
		r := e.GetCheckRun()
		return ciHook(e.GetAction(), e.GetRepo(), e.GetSender(), r.GetHeadSHA(), r.GetCheckSuite().GetHeadBranch(), r.GetStatus(), r.GetConclusion())
	case *gh.CheckSuiteEvent:
		s := e.GetCheckSuite()
		return ciHook(e.GetAction(), e.GetRepo(), e.GetSender(), s.GetHeadSHA(), s.GetHeadBranch(), s.GetStatus(), s.GetConclusion())
	case *gh.WorkflowRunEvent:
		w := e.GetWorkflowRun()
		return ciHook(e.GetAction(), e.GetRepo(), e.GetSender(), w.GetHeadSHA(), branchHere(w, e.GetRepo()), w.GetStatus(), w.GetConclusion())
	case *gh.PullRequestEvent:
		return pullRequestHook(e)
	case *gh.PullRequestReviewEvent:
		return reviewHook(e)
	case *gh.PushEvent:
		return githost.Hook{Kind: githost.HookPush, Repo: e.GetRepo().GetFullName(), SHA: e.GetAfter(), Branch: branchOf(e.GetRef()), Sender: e.GetSender().GetLogin()}
	case *gh.IssueCommentEvent:
		return githost.Hook{
			Kind: githost.HookComment, Action: e.GetAction(), Repo: e.GetRepo().GetFullName(), Number: int64(e.GetIssue().GetNumber()),
			Body: e.GetComment().GetBody(), Sender: e.GetSender().GetLogin(),
		}
	default:
		return githost.Hook{Kind: githost.HookOther}
	}
}

func ciHook(action string, repo *gh.Repository, sender *gh.User, sha, branch, status, result string) githost.Hook {
	state := conclusion(status, result)
	return githost.Hook{
		Kind: githost.HookCI, Action: action, Repo: repo.GetFullName(), SHA: sha, Branch: branch, State: string(state),
		Finished: state != githost.CheckPending, Sender: sender.GetLogin(),
	}
}

// statusHook keeps only the branches whose head is the commit: GitHub lists
// those that contain it.
func statusHook(e *gh.StatusEvent) githost.Hook {
	state := stateOf(e.GetState())
	h := githost.Hook{
		Kind: githost.HookCI, Action: e.GetContext(), Repo: e.GetRepo().GetFullName(), SHA: e.GetSHA(), State: string(state),
		Finished: state != githost.CheckPending, Sender: e.GetSender().GetLogin(),
	}
	for _, b := range e.Branches {
		if b.GetCommit().GetSHA() == h.SHA {
			h.Branches = append(h.Branches, b.GetName())
		}
	}
	return h
}

// branchHere is a workflow run's branch unless it is a fork's.
func branchHere(w *gh.WorkflowRun, repo *gh.Repository) string {
	if from := w.GetHeadRepository().GetFullName(); from != "" && !strings.EqualFold(from, repo.GetFullName()) {
		return ""
	}
	return w.GetHeadBranch()
}

func pullRequestHook(e *gh.PullRequestEvent) githost.Hook {
	pr := e.GetPullRequest()
	h := githost.Hook{
		Kind: githost.HookPullRequest, Action: e.GetAction(), Repo: e.GetRepo().GetFullName(), SHA: pr.GetHead().GetSHA(),
		Number: int64(e.GetNumber()), State: pr.GetState(), Sender: e.GetSender().GetLogin(),
	}
	if ours(pr, h.Repo) {
		h.Branch = pr.GetHead().GetRef()
	}
	if h.Action == "closed" && pr.GetMerged() {
		h.Kind, h.MergeSHA = githost.HookMerged, pr.GetMergeCommitSHA()
	}
	return h
}

func reviewHook(e *gh.PullRequestReviewEvent) githost.Hook {
	pr, r := e.GetPullRequest(), e.GetReview()
	state, _ := reviewState(r.GetState())
	h := githost.Hook{
		Kind: githost.HookReview, Action: e.GetAction(), Repo: e.GetRepo().GetFullName(), SHA: r.GetCommitID(),
		Number: int64(pr.GetNumber()), State: string(state), Body: r.GetBody(), Sender: e.GetSender().GetLogin(), Bot: isBot(e.GetSender()),
	}
	if ours(pr, h.Repo) {
		h.Branch = pr.GetHead().GetRef()
	}
	if h.Action == "edited" { // it says the same in other words
		h.Kind = githost.HookOther
	}
	return h
}

func branchOf(ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}
