package forgetest

import (
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

type object = map[string]any

// refusal is an answer that is none of success.
type refusal struct {
	status  int
	text    string
	details []string
}

func (r refusal) Error() string { return r.text }

// dialect holds the habits in which hosts differ.
type dialect struct {
	gitea bool // for the habits that are no row

	prefix   string   // of the path of every call
	schemes  []string // of authorization
	media    string   // of answers
	size     string   // parameter of lists
	pageMax  int      // rows of a list
	moment   string   // form of the time of a review
	web      string   // address of the pages
	clones   string   // address of the repositories
	pullPage string   // path of the pages of pull requests

	methods []string          // of merging, that a new repository allows
	allows  map[string]string // fields of a repository, by method
	order   [3]string         // fields of a merge: method, title, head
	usual   string            // method of a merge that names none
	state   string            // field of a status
	events  map[string]string // of webhooks whose kind has another name

	synced, reviewed string // actions of webhooks

	faults map[fakehttp.Fault]refusal

	badToken, unreadable, notFound, noBranch, noRef, noAccount, noHooks, stale, raced, conflict refusal

	routes     map[string]func(*call)
	head       func(*Server, http.Header, fakehttp.Delivery)
	wireRefuse func(refusal) object
	wireBranch func(r *repository, name, sha string) object
	wireHook   func(h Hook, id int) object
	more       func(s *Server, p *pull, out, head, base object) // what a pull request shows besides
	mayOpen    func(c *call, title, head, base string) error
	mayMerge   func(s *Server, p *pull, method string) error
}

// common are the calls that both hosts have, below their prefix.
func common() map[string]func(*call) {
	const repo = "/repos/{owner}/{repo}"
	return map[string]func(*call){
		"GET /user":          func(c *call) { c.ok(c.wireUser(c.login(c.r))) },
		"GET /users/{login}": (*call).getPerson,

		"GET " + repo:                             (*call).describe,
		"GET " + repo + "/branches/{branch...}":   (*call).branch,
		"GET " + repo + "/hooks":                  (*call).listHooks,
		"POST " + repo + "/hooks":                 (*call).addHook,
		"GET " + repo + "/commits/{sha}/statuses": (*call).listStatuses,
		"GET " + repo + "/pulls":                  (*call).listPulls,
		"POST " + repo + "/pulls":                 (*call).createPull,
		"GET " + repo + "/pulls/{number}":         func(c *call) { c.ok(c.wirePull(c.p)) },
		"GET " + repo + "/pulls/{number}/reviews": (*call).listReviews,

		"GET " + repo + "/collaborators/{login}/permission": (*call).permission,

		"GET " + repo + "/labels":                    func(c *call) { c.listIn(wired(c.at.labels, c.wireLabel)) },
		"POST " + repo + "/labels":                   (*call).postLabel,
		"GET " + repo + "/issues":                    (*call).listIssues,
		"POST " + repo + "/issues":                   (*call).postIssue,
		"PATCH " + repo + "/issues/comments/{id}":    (*call).patchComment,
		"GET " + repo + "/issues/{number}":           func(c *call) { c.ok(c.wireIssue(c.i)) },
		"PATCH " + repo + "/issues/{number}":         (*call).patchIssue,
		"PUT " + repo + "/issues/{number}/labels":    (*call).putLabels,
		"GET " + repo + "/issues/{number}/comments":  (*call).listComments,
		"POST " + repo + "/issues/{number}/comments": (*call).postComment,
	}
}
