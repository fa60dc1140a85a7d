// Package githost is the port to a git hosting service: continuous integration
// results, reviews, pull requests and branches. Wire knowledge stays in the
// adapters (adapters/github, adapters/gitea); githost/memhost is an in-memory double and
// githost/hosttest the suite that every implementation passes.
//
// Errors follow the contract of package orchestrator/fault.
package githost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Sentinels. Adapters wrap them.
var (
	ErrNotFound     = errors.New("githost: not found")
	ErrHeadMoved    = errors.New("githost: the branch head is not the expected commit")
	ErrNotMergeable = errors.New("githost: the pull request cannot be merged as it is")
	ErrDenied       = errors.New("githost: not allowed")
	ErrUnqueued     = errors.New("githost: the pull request is in no merge queue, and is not merged")
	ErrRed          = fmt.Errorf("%w: checks have failed in its merge queue", ErrNotMergeable)
)

// CheckState is the state of one CI signal.
type CheckState string

// States of a check. Timed out and cancelled are finished and not green; held goes on when a person has acted, at
// the host or at the app that reports it; expected is demanded or begun, and nothing of it was
// reported.
const (
	CheckExpected  CheckState = "expected"
	CheckPending   CheckState = "pending"
	CheckPassed    CheckState = "passed" // success, neutral, skipped
	CheckFailed    CheckState = "failed"
	CheckTimedOut  CheckState = "timed_out"
	CheckCancelled CheckState = "cancelled" // cancelled or stale, or could not begin
	CheckHeld      CheckState = "held"      // awaits a person's action
)

// AppActions is the Check.App of workflows that the host runs itself, as configured in
// .github/workflows, .gitea/workflows or .forgejo/workflows.
const AppActions = "actions"

// Check is one commit status or check run of a commit, or one that is expected of it and
// was not reported: then Note says where it is demanded. A name that was reported is never
// listed as expected too.
type Check struct {
	Name  string     `json:"name"`
	State CheckState `json:"state"`
	Kind  string     `json:"kind"`          // status, check_run or check_suite; of an expected one also required
	App   string     `json:"app,omitempty"` // what reports it: AppActions, or a name of the host's; empty = not known
	ID    string     `json:"id,omitempty"`  // the host's own name of it, where it has one
	URL   string     `json:"url,omitempty"`
	Note  string     `json:"note,omitempty"`
	// Issuer is an app or an account, as the host itself has it: nothing that the sender writes says it. SHA is the
	// commit by the host's answer, where that says it.
	stage.Provenance
	// Foreign says why it is not who is expected to report it; empty = it is, or nobody is expected.
	Foreign string `json:"foreign,omitempty"`
	// Optional means that the base's rules name the checks that they demand, and this is none.
	Optional bool `json:"optional,omitempty"`
}

// ReviewState names what a reviewer said last.
type ReviewState string

// States of a review.
const (
	ReviewApproved         ReviewState = "approved"
	ReviewChangesRequested ReviewState = "changes_requested"
	ReviewCommented        ReviewState = "commented"
	ReviewDismissed        ReviewState = "dismissed"
)

// Permission names what an account may do in a repository.
type Permission string

// Permissions, the least first. Roles between them count as the lower one.
const (
	PermissionUnknown Permission = "" // the host does not say
	PermissionNone    Permission = "none"
	PermissionRead    Permission = "read"
	PermissionWrite   Permission = "write"
	PermissionAdmin   Permission = "admin"
)

// MayWrite reports whether the permission is write or more.
func (p Permission) MayWrite() bool { return p == PermissionWrite || p == PermissionAdmin }

// Review is one review of one author. Who may review at all is for the reader to
// judge: on a public repository anybody can.
type Review struct {
	ID         string      `json:"id,omitempty"` // the host's own name of it
	Author     string      `json:"author"`
	State      ReviewState `json:"state"`
	SHA        string      `json:"sha"`
	Body       string      `json:"body,omitempty"`
	At         time.Time   `json:"at"`
	Permission Permission  `json:"permission,omitempty"` // of the author, now; unknown for a bot, and for a comment
	Bot        bool        `json:"bot,omitempty"`        // the author is a machine's account
	Own        bool        `json:"own,omitempty"`        // the author is the service's account
	Opener     bool        `json:"opener,omitempty"`     // the author has opened the pull request
}

// Provenance is the review's author, and the commit that was reviewed.
func (r Review) Provenance() stage.Provenance {
	return stage.Provenance{Issuer: stage.IssuerUser + r.Author, Proof: stage.ProofHost, SHA: r.SHA, At: r.At}
}

// PullRequest is a change as the host shows it.
type PullRequest struct {
	Number   int64
	URL      string
	Open     bool
	Merged   bool
	HeadRef  string
	HeadSHA  string
	BaseRef  string
	Author   string // the account that has opened it
	MergeSHA string // the commit on the base branch, once merged
	Readiness
}

// NewPullRequest describes a pull request to open.
type NewPullRequest struct {
	Repo  string // owner/name
	Head  string // branch
	Base  string
	Title string
	Body  string
}

// Merge describes a merge that is pinned to a head commit: of a pull request by its number,
// or of a branch, where there are none (Plain).
type Merge struct {
	Repo    string
	Number  int64  // 0 in a plain repository
	Head    string // branch; a plain repository needs it, and Base
	Base    string
	HeadSHA string // refused with ErrHeadMoved when the head is another
	Title   string
	Body    string      // of what MergeSquash makes in a plain repository
	Method  MergeMethod // refused with ErrDenied where the repository does not allow it; a merge queue has its own

	// Queue is set where the base is merged into by a merge queue of the host's alone (Readiness.Queue). Of a removal by the
	// queue before Since nothing is reported.
	Queue QueueStep
	Since time.Time
}

// QueueStep names a step of Merge at a merge queue of the host's.
type QueueStep string

// Steps. QueueJoin fails with a *QueuedError until the pull request is merged, or as a refused merge does when the queue has
// removed it. QueueLeave fails with ErrUnqueued when the pull request is in no queue, and is not merged.
const (
	QueueJoin  QueueStep = "join"
	QueueLeave QueueStep = "leave"
)

// QueuedError means that a pull request waits in a merge queue of its host.
type QueuedError struct {
	Host  string // its name for people
	Place int    // from 1
}

// Error says where it waits.
func (e *QueuedError) Error() string {
	return fmt.Sprintf("in the merge queue of %s, place %d", e.Host, e.Place)
}

// Retryable implements the contract of package fault.
func (e *QueuedError) Retryable() bool { return true }

// MergeMethod names what a merge makes of the commits of a branch.
type MergeMethod string

// Methods. A plain repository has MergeSquash alone.
const (
	MergeAny    MergeMethod = "" // the first of the others that the repository allows
	MergeCommit MergeMethod = "merge"
	MergeSquash MergeMethod = "squash"
	MergeRebase MergeMethod = "rebase"
)

// Host reads and changes a hosted repository. Implementations are safe for
// concurrent use.
type Host interface {
	// Checks lists the newest result of every check and status of a commit, and what is
	// expected of one that is to go into the branch base and was not reported: what rules
	// of that branch demand, and what has begun without a result. An empty list means that no CI
	// has reported anything, and that none is known to.
	Checks(ctx context.Context, repo, base, sha string) ([]Check, error)
	// Reviews lists, oldest first, the reviews of what PullRequest returns; none when there is no such pull request.
	// They come with what their authors may do.
	Reviews(ctx context.Context, repo, branch, base string) ([]Review, error)
	// PullRequest returns the newest pull request of a branch into base, else the newest into another, or ErrNotFound: a
	// branch may go into several. One that is open comes with its readiness.
	PullRequest(ctx context.Context, repo, branch, base string) (PullRequest, error)
	// OpenPullRequest opens one, or returns the one that is open already.
	OpenPullRequest(ctx context.Context, n NewPullRequest) (PullRequest, error)
	// Merge merges a pull request; merging a merged one returns its MergeSHA. Of a
	// plain repository that is the head itself.
	Merge(ctx context.Context, m Merge) (string, error)
}

// Branches resolves and removes branches.
type Branches interface {
	// BranchesAt lists the branches whose head is the commit; ErrNotFound may be said of one that the host does not have.
	BranchesAt(ctx context.Context, repo, sha string) ([]string, error)
	// DeleteBranch removes a branch; one that is gone already is a success.
	DeleteBranch(ctx context.Context, repo, branch string) error
}

// Hook kinds.
const (
	HookCI          = "ci"
	HookReview      = "review"
	HookMerged      = "merged"
	HookPush        = "push" // commits: of the branch itself, or of the pull request that shows them
	HookPullRequest = "pull_request"
	HookComment     = "comment"
	HookThread      = "thread" // a conversation about lines was resolved, or opened again
	HookQueue       = "queue"  // a merge queue of the repository has moved
	HookOther       = "other"  // understood, and of no interest
)

// Hook is one webhook of a git host, decoded. It is a hint, like a tracker's.
type Hook struct {
	Kind     string
	Event    string   // the host's own name of it, for logs
	Action   string   // the host's own word
	Repo     string   // owner/name
	SHA      string   // the commit that it is about
	Branches []string // whose head is the commit, as far as the payload names them
	Branch   string   // head branch of the pull request or check
	Number   int64    // of the pull request
	State    string   // of the CI signal or the review, normalised
	Finished bool     // the CI signal is final
	Body     string   // of the review or comment
	MergeSHA string
	Sender   string // the account that caused it; empty when the payload has none
	Bot      bool   `json:",omitempty"` // the sender is a machine's account
	Unsigned bool   `json:",omitempty"` // nothing proves who has sent it
}

// FormReceiver is a Receiver whose host may put the payload into a form. The signature is of the
// body as it is sent.
type FormReceiver interface {
	// FormPayload is the payload of an application/x-www-form-urlencoded body, for Decode.
	FormPayload(body []byte) ([]byte, error)
}

// Receiver is the edge of a git host's webhooks. Its methods are pure.
type Receiver interface {
	// Signature begins the check of a body, by the headers alone: an error, such as
	// signature.ErrMissing, means that they carry no signature of the right form.
	Signature(h http.Header) (*signature.Check, error)
	// Delivery names the delivery and the event by the headers.
	Delivery(h http.Header) (id, event string)
	// Decode reads the payload. An error means that it is not what it says.
	Decode(event string, body []byte) (Hook, error)
	// Habits are those of the sender.
	Habits() signature.Habits
}
