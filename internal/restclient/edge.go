package restclient

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Edge verifies the webhooks of the server that a Client calls. An adapter that embeds one is half a receiver.
type Edge struct {
	scheme   signature.Scheme
	insecure bool
	secrets  atomic.Pointer[signature.Secrets]
}

// NewEdge makes one; insecure takes unsigned webhooks while there are no secrets.
func NewEdge(scheme signature.Scheme, secrets signature.Secrets, insecure bool) *Edge {
	e := &Edge{scheme: scheme, insecure: insecure}
	e.SetSecrets(secrets)
	return e
}

// SetSecrets replaces Options.Secrets for the webhooks that come from now on.
func (e *Edge) SetSecrets(s signature.Secrets) { e.secrets.Store(&s) }

// Signature implements the receivers of packages tracker and githost. Without secrets nothing
// passes, unless Options.Insecure is set.
func (e *Edge) Signature(h http.Header) (*signature.Check, error) {
	return e.scheme.Check(h.Get, *e.secrets.Load(), e.insecure, time.Time{})
}

// TakesUnsigned reports whether webhooks pass now that nobody has signed. It is no method, which
// adapters would have too.
func TakesUnsigned(e *Edge) bool { return len(*e.secrets.Load()) == 0 && e.insecure }

// CIHook tells that CI has reported a state.
func CIHook(action string, state githost.CheckState, sha, branch string) githost.Hook {
	return githost.Hook{
		Kind: githost.HookCI, Action: action, SHA: sha, Branch: branch, State: string(state), Finished: state != githost.CheckPending,
	}
}

// PullHook tells what has become of a pull request: one that was closed may be merged, and the action pushed is that
// of new commits.
func PullHook(h githost.Hook, pushed string, merged bool, mergeSHA string) githost.Hook {
	h.Kind = githost.HookPullRequest
	switch {
	case h.Action == "closed" && merged:
		h.Kind, h.MergeSHA = githost.HookMerged, mergeSHA
	case h.Action == pushed:
		h.Kind = githost.HookPush
	}
	return h
}

// PushHook tells that a ref was set to a commit, with its branch if it is one.
func PushHook(ref, sha string) githost.Hook {
	branch, is := strings.CutPrefix(ref, "refs/heads/")
	if !is {
		branch = ""
	}
	return githost.Hook{Kind: githost.HookPush, SHA: sha, Branch: branch}
}
