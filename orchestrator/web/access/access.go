// Package access decides who may do what over HTTP. A Guard identifies whoever has sent a
// request (a named token, a session, an identity provider, a trusted proxy, this machine
// itself), and a Table of Routes says which right each route needs and of which repository; the
// mux is built from that table, so that no route is served without a row.
//
// Rights are roles, each with those below it: viewer < operator < approver < releaser < admin,
// in all repositories or in some.
package access

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Role is a right, which includes those below it.
type Role string

// Roles, the least first. Everybody is needed where nobody has to be identified.
const (
	Everybody Role = "everybody"
	Viewer    Role = "viewer"   // reads
	Operator  Role = "operator" // stops, retries, hastens, changes dependencies and cards
	Approver  Role = "approver" // sets Approved and Rejected on the service's own board
	Releaser  Role = "releaser" // confirms deployments there, ends freezes
	Admin     Role = "admin"    // reads the registry again
)

// Roles lists what can be given, the least first.
func Roles() []Role { return []Role{Viewer, Operator, Approver, Releaser, Admin} }

// Includes reports whether the role has another's right.
func (r Role) Includes(other Role) bool {
	all := Roles()
	return other == Everybody || slices.Contains(all, other) && slices.Index(all, r) >= slices.Index(all, other)
}

// Grant is a role in repositories (owner/name); without any, in all.
type Grant struct {
	Role  Role     `json:"role"`
	Repos []string `json:"repos,omitempty"`
}

// in reports whether the grant is of a repository; empty = of all.
func (g Grant) in(repo string) bool {
	return len(g.Repos) == 0 || repo != "" && slices.ContainsFunc(g.Repos, func(r string) bool { return strings.EqualFold(r, repo) })
}

// String is the grant as settings have it: operator@acme/app+acme/web.
func (g Grant) String() string {
	if len(g.Repos) == 0 {
		return string(g.Role)
	}
	return string(g.Role) + "@" + strings.Join(g.Repos, "+")
}

// parseGrant reads what String writes.
func parseGrant(text string) (Grant, error) {
	role, repos, some := strings.Cut(text, "@")
	g := Grant{Role: Role(role)}
	if !slices.Contains(Roles(), g.Role) {
		return g, fmt.Errorf("%q is no role: want viewer, operator, approver, releaser or admin, and perhaps @owner/name+owner/name", text)
	}
	if some {
		g.Repos = strings.Split(repos, "+")
	}
	for _, repo := range g.Repos {
		if owner, name, ok := strings.Cut(repo, "/"); !ok || owner == "" || name == "" {
			return g, fmt.Errorf("%q names the repository %q: want owner/name", text, repo)
		}
	}
	return g, nil
}

// Via is how somebody was identified.
type Via string

// Ways.
const (
	ViaToken    Via = "token"
	ViaProvider Via = "provider" // an identity provider
	viaProxy    Via = "proxy"    // a trusted one names the person
)

// Principal names the sender of a request. The zero Principal is nobody, without a right.
type Principal struct {
	Name    string
	Via     Via
	Subject string // of ViaProvider: see Person
	Shared  bool   // the name says nothing of the person: ORCH_ADMIN_TOKEN, the first token
	Grants  []Grant
	From    string // address
	Request string // id of the request
}

// May reports whether the principal has a right in a repository; empty = in all.
func (p Principal) May(role Role, repo string) bool {
	return role == Everybody || slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.Role.Includes(role) && g.in(repo) })
}

// MaySomewhere reports whether the principal has a right in any repository.
func (p Principal) MaySomewhere(role Role) bool {
	return role == Everybody || slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.Role.Includes(role) })
}

// Reads reports whether the principal may read what is of a repository.
func (p Principal) Reads(repo string) bool { return p.May(Viewer, repo) }

// PersonProof returns what shows that a person of the sender's name acts, typed or not: a token that several
// people may have shows nothing of that.
func (p Principal) PersonProof() stage.Proof {
	if p.Shared {
		return stage.ProofNone
	}
	return p.proof()
}

// proof returns what shows that it was the principal.
func (p Principal) proof() stage.Proof {
	switch p.Via {
	case ViaToken:
		return stage.ProofToken
	case ViaProvider:
		return stage.ProofProvider
	case viaProxy:
		return stage.ProofProxy
	}
	return stage.ProofNone
}

// By is the principal as the journal has it.
func (p Principal) By(via stage.Via) stage.Principal {
	return stage.Principal{
		Kind: stage.KindOperator, ID: p.Name, Subject: p.Subject, Via: via,
		Proof: p.proof(), From: p.From, Request: p.Request,
	}
}

// NameCookie holds the name that a person has typed who shares a token with others. It proves nothing.
const NameCookie = "signalbox_name"

// TypedName reads that name, as it was sent.
func TypedName(r *http.Request) string {
	c, err := r.Cookie(NameCookie)
	if err != nil {
		return ""
	}
	name, _ := url.QueryUnescape(c.Value) // empty on failure
	return name
}

// Called is how a person is shown who has typed a name: "kim (admin token)"; empty where the principal has one.
func (p Principal) Called(name string) string {
	if !p.Shared || name == "" {
		return ""
	}
	return name + " (" + p.Name + " token)"
}

// String is the principal for people.
func (p Principal) String() string {
	if p.Name == "" {
		return "nobody"
	}
	return p.Name + " (" + string(p.Via) + ")"
}

// Readable returns what of a list the sender of a request may read, by repository.
func Readable[T any](ctx context.Context, list []T, repo func(T) string) (out []T) {
	p := Of(ctx)
	for _, one := range list {
		if p.Reads(repo(one)) {
			out = append(out, one)
		}
	}
	return out
}

// ForColumn returns the right to set a status on a card of a board of our own.
func ForColumn(to stage.Status) Role {
	switch to {
	case stage.StatusApproved, stage.StatusRejected:
		return Approver
	case stage.StatusConfirmDeploy:
		return Releaser
	}
	return Operator
}

type contextKey struct{}

// With puts a principal into a context.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// Of is the principal of a request that has passed a Table; else nobody.
func Of(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
