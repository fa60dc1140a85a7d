package gitea

import (
	"cmp"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// edge has no name that an importer sees.
type edge = restclient.Edge

// scheme is that of Gitea and Forgejo, and of what speaks as GitHub does.
var scheme = signature.Scheme{In: []signature.Place{
	{Header: "X-Gitea-Signature"}, {Header: "X-Forgejo-Signature"}, {Header: "X-Hub-Signature-256", Prefix: "sha256="},
}}

// Habits implements githost.Receiver. Gitea waits 5 s; what was refused, only a person sends
// again.
func (c *Client) Habits() signature.Habits {
	return signature.Habits{Limit: 25 << 20, Hold: 4 * time.Second}
}

// Delivery implements githost.Receiver. A delivery that is replayed by hand has a new id.
func (c *Client) Delivery(h http.Header) (id, event string) {
	return cmp.Or(h.Get("X-Gitea-Delivery"), h.Get("X-Forgejo-Delivery")), cmp.Or(h.Get("X-Gitea-Event"), h.Get("X-Forgejo-Event"))
}

// payload holds what is read of webhooks, of all kinds: few fields, so that a payload whose
// others have changed is read all the same. Gitea never sends again what was refused.
type payload struct {
	Action     string
	Number     int64
	Repository struct {
		ID       int64
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender user

	SHA     string // of a status
	State   string
	Context string

	Run run `json:"workflow_run"`
	Job run `json:"workflow_job"`

	PullRequest pull `json:"pull_request"`
	Review      struct {
		Type    string
		Content string
	} `json:"review"`

	Ref     string
	RefType string `json:"ref_type"`
	After   string
	IsPull  bool `json:"is_pull"`
	Issue   struct{ Number int64 }
	Comment struct{ Body string }
}

// run is a workflow's run or job. Its branch is empty when a pull request has caused it.
type run struct {
	HeadSHA    string `json:"head_sha"`
	HeadBranch string `json:"head_branch"`
	Status     string
	Conclusion string
	HeadRepo   struct {
		ID int64
	} `json:"head_repository"`
}

// readers are the events that are of interest.
var readers = map[string]func(payload) githost.Hook{
	"status": func(p payload) githost.Hook {
		return ciHook(p.Context, stateOf(p.State), run{HeadSHA: p.SHA}, p)
	},
	"workflow_run": func(p payload) githost.Hook {
		return ciHook(p.Action, conclusion(p.Run.Status, p.Run.Conclusion), p.Run, p)
	},
	"workflow_job": func(p payload) githost.Hook {
		return ciHook(p.Action, conclusion(p.Job.Status, p.Job.Conclusion), p.Job, p)
	},
	"pull_request": pullRequestHook,

	"pull_request_approved": reviewHook, "pull_request_rejected": reviewHook, "pull_request_comment": reviewHook,

	"push":   func(p payload) githost.Hook { return restclient.PushHook(p.Ref, p.After) },
	"create": func(p payload) githost.Hook { return refHook(p, p.SHA) },
	"delete": func(p payload) githost.Hook { return refHook(p, noCommit) },

	"issue_comment": commentHook,
}

// noCommit is the commit of a branch that was removed.
const noCommit = "0000000000000000000000000000000000000000"

// Decode implements githost.Receiver.
func (c *Client) Decode(event string, body []byte) (githost.Hook, error) {
	return githost.DecodeHook("gitea", event, body, readers, func(h *githost.Hook, p payload) {
		h.Repo, h.Sender, h.Bot = c.names.Registered(p.Repository.FullName, p.Repository.ID), p.Sender.Login, p.Sender.bot()
		h.Unsigned = restclient.TakesUnsigned(c.edge)
	})
}

// ciHook drops the branch of a fork. A status names no branch at all.
func ciHook(action string, state githost.CheckState, r run, p payload) githost.Hook {
	if r.HeadRepo.ID != 0 && r.HeadRepo.ID != p.Repository.ID {
		r.HeadBranch = ""
	}
	return restclient.CIHook(action, state, r.HeadSHA, r.HeadBranch)
}

func pullRequestHook(p payload) githost.Hook {
	pr := p.PullRequest
	return restclient.PullHook(githost.Hook{
		Action: p.Action, SHA: pr.Head.SHA, Branch: branchHere(pr), Number: cmp.Or(p.Number, pr.Number), State: pr.State,
	}, "synchronized", pr.Merged, pr.MergeSHA)
}

// branchHere is a pull request's branch unless it is a fork's.
func branchHere(p pull) string {
	if p.here() {
		return p.Head.Label
	}
	return ""
}

// reviewHook reads a review, which names no commit: the head is what it was at the time of
// the delivery.
func reviewHook(p payload) githost.Hook {
	states := map[string]githost.ReviewState{
		"pull_request_review_approved": githost.ReviewApproved,
		"pull_request_review_rejected": githost.ReviewChangesRequested,
		"pull_request_review_comment":  githost.ReviewCommented,
	}
	h := pullRequestHook(p)
	h.Kind, h.State, h.Body = githost.HookReview, string(states[p.Review.Type]), p.Review.Content
	if h.State == "" { // a kind of review that came later
		h.Kind = githost.HookOther
	}
	return h
}

// refHook reads that a branch was made or removed, which names it in short.
func refHook(p payload, sha string) githost.Hook {
	if p.RefType != "branch" {
		return githost.Hook{Kind: githost.HookOther}
	}
	return githost.Hook{Kind: githost.HookPush, SHA: sha, Branch: p.Ref}
}

func commentHook(p payload) githost.Hook {
	h := githost.Hook{Kind: githost.HookComment, Action: p.Action, Number: p.Issue.Number, Body: p.Comment.Body}
	if !p.IsPull {
		h.Kind = githost.HookOther
	}
	return h
}
