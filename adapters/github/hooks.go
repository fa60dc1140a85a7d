package github

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// edge has no name that an importer sees.
type edge = restclient.Edge

// scheme is that of GitHub's newer signature; SHA-1 does not count.
var scheme = signature.Scheme{In: []signature.Place{{Header: gh.SHA256SignatureHeader, Prefix: "sha256="}}}

// Habits implements githost.Receiver. GitHub waits 10 s; what was refused, a person sends
// again.
func (c *Client) Habits() signature.Habits {
	return signature.Habits{Limit: 25 << 20, Hold: 8 * time.Second}
}

// Delivery implements githost.Receiver. The id stays when GitHub sends again.
func (c *Client) Delivery(h http.Header) (id, event string) {
	return h.Get(gh.DeliveryIDHeader), h.Get(gh.EventTypeHeader)
}

// FormPayload implements githost.FormReceiver: GitHub may be set to send forms, and its page of
// settings proposed it for a long time.
func (c *Client) FormPayload(body []byte) ([]byte, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("payload") == "" {
		return nil, errors.New("github: the form has no payload")
	}
	return []byte(form.Get("payload")), nil
}

// payload holds what is read of webhooks, of all kinds: few fields, so that a payload whose
// others have changed is read all the same. GitHub never sends again what was refused.
type payload struct {
	Action     string
	Number     int64
	Repository struct {
		ID       int64
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender account

	SHA      string // of a status
	State    string
	Context  string
	Branches []branch

	CheckRun struct {
		run
		CheckSuite run `json:"check_suite"`
	} `json:"check_run"`
	CheckSuite  run `json:"check_suite"`
	WorkflowRun run `json:"workflow_run"`

	PullRequest struct {
		Number         int64
		State          string
		Merged         bool
		MergeCommitSHA string `json:"merge_commit_sha"`
		Head           struct {
			Ref  string
			SHA  string
			Repo account
		} `json:"head"`
	} `json:"pull_request"`
	Review struct {
		State    string
		Body     string
		CommitID string `json:"commit_id"`
	} `json:"review"`

	Ref     string
	After   string
	Issue   struct{ Number int64 }
	Comment struct{ Body string }
}

// account is a repository or a user.
type account struct {
	FullName string `json:"full_name"`
	Login    string
	Type     string
}

type branch struct {
	Name   string
	Commit struct {
		SHA string
	} `json:"commit"`
}

// run is a check run, a check suite or a workflow run.
type run struct {
	HeadSHA    string `json:"head_sha"`
	HeadBranch string `json:"head_branch"`
	Status     string
	Conclusion string
	HeadRepo   account `json:"head_repository"`
}

// readers are the events that are of interest.
var readers = map[string]func(payload) githost.Hook{
	"status": statusHook,
	"check_run": func(p payload) githost.Hook {
		r := p.CheckRun.run
		r.HeadBranch = p.CheckRun.CheckSuite.HeadBranch
		return ciHook(p, r)
	},
	"check_suite":         func(p payload) githost.Hook { return ciHook(p, p.CheckSuite) },
	"workflow_run":        func(p payload) githost.Hook { return ciHook(p, here(p.WorkflowRun, p.Repository.FullName)) },
	"pull_request":        pullRequestHook,
	"pull_request_review": reviewHook,
	"pull_request_review_thread": func(p payload) githost.Hook {
		h := pullRequestHook(p)
		h.Kind, h.State = githost.HookThread, ""
		return h
	},
	"push":        func(p payload) githost.Hook { return restclient.PushHook(p.Ref, p.After) },
	"merge_group": func(p payload) githost.Hook { return githost.Hook{Kind: githost.HookQueue, Action: p.Action} },
	"issue_comment": func(p payload) githost.Hook {
		return githost.Hook{Kind: githost.HookComment, Action: p.Action, Number: p.Issue.Number, Body: p.Comment.Body}
	},
}

// Decode implements githost.Receiver.
func (c *Client) Decode(event string, body []byte) (githost.Hook, error) {
	return githost.DecodeHook("github", event, body, readers, func(h *githost.Hook, p payload) {
		h.Repo, h.Sender, h.Bot = c.names.Registered(p.Repository.FullName, p.Repository.ID), p.Sender.Login, p.Sender.Type == bot
		h.Unsigned = restclient.TakesUnsigned(c.edge)
	})
}

func ciHook(p payload, r run) githost.Hook {
	return restclient.CIHook(p.Action, conclusion(r.Status, r.Conclusion), r.HeadSHA, r.HeadBranch)
}

// statusHook keeps only the branches whose head is the commit: GitHub lists
// those that contain it.
func statusHook(p payload) githost.Hook {
	h := restclient.CIHook(p.Context, stateOf(p.State), p.SHA, "")
	for _, b := range p.Branches {
		if b.Commit.SHA == h.SHA {
			h.Branches = append(h.Branches, b.Name)
		}
	}
	return h
}

// here is a workflow run without its branch when that is a fork's.
func here(r run, repo string) run {
	if from := r.HeadRepo.FullName; from != "" && !strings.EqualFold(from, repo) {
		r.HeadBranch = ""
	}
	return r
}

// branchHere is a pull request's branch unless it is a fork's.
func branchHere(p payload) string {
	if head := p.PullRequest.Head; strings.EqualFold(head.Repo.FullName, p.Repository.FullName) {
		return head.Ref
	}
	return ""
}

func pullRequestHook(p payload) githost.Hook {
	pr := p.PullRequest
	return restclient.PullHook(githost.Hook{
		Action: p.Action, SHA: pr.Head.SHA, Branch: branchHere(p), Number: cmp.Or(p.Number, pr.Number), State: pr.State,
	}, "synchronize", pr.Merged, pr.MergeCommitSHA)
}

func reviewHook(p payload) githost.Hook {
	r := p.Review
	state, _ := reviewState(r.State)
	h := githost.Hook{
		Kind: githost.HookReview, Action: p.Action, SHA: r.CommitID, Branch: branchHere(p),
		Number: p.PullRequest.Number, State: string(state), Body: r.Body,
	}
	if h.Action == "edited" { // it says the same in other words
		h.Kind = githost.HookOther
	}
	return h
}
