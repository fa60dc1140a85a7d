package githost

import "context"

// Examiner describes what a deployment needs of a repository: what the token may do there,
// what a merge has to fulfil, and which webhooks are sent. ErrNotFound where the token does
// not see it, ErrDenied where it may not.
type Examiner interface {
	// Repository describes a repository.
	Repository(ctx context.Context, repo string) (Repository, error)
	// Protection describes a branch.
	Protection(ctx context.Context, repo, branch string) (Protection, error)
	// Webhooks lists the webhooks of a repository; most hosts show them to its
	// administrators alone.
	Webhooks(ctx context.Context, repo string) ([]Webhook, error)
	// AddWebhook has a repository send the service's webhooks to an address, signed with a
	// secret.
	AddWebhook(ctx context.Context, repo, address, secret string) error
}

// Repository describes a repository and what the token may do there.
type Repository struct {
	Name          string // owner/name, as the host writes it
	CloneURL      string
	DefaultBranch string
	Push, Admin   bool // of the token
	Archived      bool
	Methods       []string // by which pull requests may be merged: merge, squash, rebase
}

// Protection describes what a branch requires of a merge, as far as a reader of the
// repository may see it.
type Protection struct {
	SHA       string // of the branch
	Protected bool
	Contexts  []string // checks that must be green
}

// Webhook is one that a repository sends.
type Webhook struct {
	URL    string
	Active bool
	Lacks  []string // events that the service works by
	JSON   bool     // its body is
	Last   int      // HTTP status of its last delivery; 0 = there was none, no answer, or the host keeps no record
	Note   string   // the host's words on that
}

// Ruled is a host that shows all that a branch demands of what goes into it. Of one that does not
// implement it Protection says what is known.
type Ruled interface {
	Rules(ctx context.Context, repo, branch string) (Rules, error)
}

// Rules lists what a branch demands, of its protection and of other rules, as far as the token
// may see them.
type Rules struct {
	Demands   []Demand
	Queue     string   // what demands a merge queue; empty = nothing does
	Methods   []string // of merging, that a rule allows: merge, squash, rebase; nil = it says nothing
	Approvals int      // of people with write access
	Owners    bool     // an owner of the code has to approve
}

// Demand is a check that has to be green before anything goes into a branch.
type Demand struct {
	Context string
	App     int64  // the host's number of the app that has to report it; 0 = any
	By      string // what demands it, for people
}
