package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

func github() dialect {
	const repo = "/repos/{owner}/{repo}"
	notFound := refusal{status: http.StatusNotFound, text: "Not Found"}
	return dialect{
		schemes: []string{"Bearer"}, media: "application/json; charset=utf-8", size: "per_page", pageMax: 100, moment: time.RFC3339Nano,
		web: "https://github.example.org/", clones: "https://github.com/", pullPage: "pull",
		methods: []string{"merge", "squash", "rebase"}, usual: "merge", state: "state",
		allows: map[string]string{"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"},
		order:  [3]string{"merge_method", "commit_title", "sha"},
		events: map[string]string{"pull_request_sync": "pull_request", "issue_label": "issues"},
		synced: "synchronize", reviewed: "submitted",
		faults: map[fakehttp.Fault]refusal{
			fakehttp.TooMany: {status: http.StatusTooManyRequests, text: "You have exceeded a secondary rate limit."},
			fakehttp.Secondary: {status: http.StatusForbidden, text: "You have exceeded a secondary rate limit. " +
				"Please wait a few minutes before you try again."},
			fakehttp.Primary:     {status: http.StatusForbidden, text: "API rate limit exceeded for user ID 7."},
			fakehttp.Denied:      {status: http.StatusForbidden, text: "Resource not accessible by personal access token"},
			fakehttp.ErrorBefore: {status: http.StatusInternalServerError, text: "Server Error"},
		},
		badToken:   refusal{status: http.StatusUnauthorized, text: "Bad credentials"},
		unreadable: refusal{status: http.StatusBadRequest, text: "Problems parsing JSON"},
		notFound:   notFound, noHooks: notFound, // as if there were no such page
		noBranch:  refusal{status: http.StatusNotFound, text: "Branch not found"},
		noRef:     refusal{status: http.StatusUnprocessableEntity, text: "Reference does not exist"},
		noAccount: refusal{status: http.StatusNotFound, text: "ghost is not a user"},
		stale:     headMoved(), raced: headMoved(), conflict: notMergeable(),
		routes: map[string]func(*call){
			"GET " + repo + "/commits/{sha}/check-runs":                                   (*call).checkRuns,
			"GET " + repo + "/commits/{sha}/check-suites":                                 (*call).checkSuites,
			"GET " + repo + "/commits/{sha}/branches-where-head":                          (*call).whereHead,
			"GET " + repo + "/branches/{branch}/protection/required_pull_request_reviews": (*call).reviewRules,

			"GET " + repo + "/rules/branches/{branch...}":  (*call).rules,
			"GET " + repo + "/check-runs/{id}/annotations": (*call).annotations,
			"POST " + repo + "/actions/jobs/{id}/rerun":    (*call).rerun,
			"POST " + repo + "/check-runs/{id}/rerequest":  (*call).rerun,
			"GET " + repo + "/actions/jobs/{id}/logs":      (*call).jobLog,
			"GET " + repo + "/pulls/{number}/comments":     (*call).lineComments,

			"POST " + repo + "/pulls/{number}/comments/{id}/replies": (*call).answerLine,

			"POST /graphql":                                            (*call).graphql,
			"PUT " + repo + "/pulls/{number}/merge":                    (*call).mergePull,
			"DELETE " + repo + "/git/refs/heads/{branch...}":           (*call).deleteBranch,
			"GET " + repo + "/issues/{number}/events":                  func(c *call) { c.listIn(c.wireLog(c.i)) },
			"GET " + repo + "/issues/{number}/dependencies/blocked_by": (*call).listBlockers,
			"GET " + repo + "/installation":                            (*call).installation,
			"GET " + files + "{id}":                                    (*call).logFile,
			"GET /app":                                                 (*call).getApp,
			"DELETE /installation/token":                               (*call).revokeToken,
			"POST /app/installations/{id}/access_tokens":               (*call).accessToken,
		},
		head: func(s *Server, h http.Header, d fakehttp.Delivery) {
			h.Set("User-Agent", "GitHub-Hookshot/0123abc")
			h.Set("X-GitHub-Event", d.Event)
			h.Set("X-GitHub-Delivery", d.ID)
			if old, signature := s.signatures(d.Body); signature != "" {
				h.Set("X-Hub-Signature", "sha1="+old)
				h.Set("X-Hub-Signature-256", "sha256="+signature)
			}
		},
		wireRefuse: func(no refusal) object {
			var list []object
			for _, d := range no.details {
				list = append(list, object{"resource": "PullRequest", "code": "custom", "message": d})
			}
			return object{
				"message": no.text, "errors": list, "status": strconv.Itoa(no.status),
				"documentation_url": "https://docs.github.com/rest",
			}
		},
		wireBranch: func(r *repository, name, sha string) object {
			contexts, protected := r.settings.Required[name]
			level := map[bool]string{true: "everyone", false: "off"}[len(contexts) > 0]
			demanded := object{"enforcement_level": level, "contexts": append([]string{}, contexts...)}
			return object{
				"name": name, "commit": object{"sha": sha}, "protected": protected,
				"protection": object{"enabled": protected, "required_status_checks": demanded},
			}
		},
		wireHook: func(h Hook, id int) object {
			code, status, message := any(h.Last), "active", any("OK")
			if h.Last == 0 {
				code, status, message = nil, "unused", nil
			} else if h.Last/100 != 2 {
				status, message = "invalid_response", "Invalid HTTP Response: "+http.StatusText(h.Last)
			}
			return object{
				"type": "Repository", "id": id, "name": "web", "active": h.Active, "events": h.Events,
				"config":        object{"url": h.URL, "content_type": h.ContentType, "insecure_ssl": "0", "secret": "********"},
				"last_response": object{"code": code, "status": status, "message": message},
			}
		},
		more: func(s *Server, p *pull, out, head, base object) {
			standing := p.standing(s)
			head["label"], base["label"] = owner(p.repo.called)+":"+p.Head, owner(p.repo.called)+":"+p.Base
			out["draft"], out["mergeable_state"] = standing == "draft", standing
		},
		mayOpen: func(c *call, title, head, base string) error {
			heads := c.at.Heads()
			switch {
			case title == "" || heads[head] == "" || heads[base] == "":
				return invalid("head, base or title is invalid")
			case heads[head] == heads[base]:
				return invalid(fmt.Sprintf("No commits between %s and %s", base, head))
			case c.twin(head, base) != nil:
				return invalid(fmt.Sprintf("A pull request already exists for %s:%s.", owner(c.at.called), head))
			}
			return nil
		},
		mayMerge: func(s *Server, p *pull, method string) error {
			words := map[string]string{
				"merge": "Merge commits are not allowed on this repository.", "squash": "Squash merges are not allowed on this repository.",
				"rebase": "Rebase merges are not allowed on this repository.",
			}[method]
			with, heads := p.repo.settings, p.repo.Heads()
			switch {
			case words == "":
				return invalid(`merge_method is not a member of ["merge", "squash", "rebase"].`)
			case with.Queue:
				return unmerged("Repository rule violations found\n\nChanges must be made through the merge queue\n\n")
			case with.Conversations && p.unresolved():
				return unmerged("A conversation must be resolved before this pull request can be merged.")
			case with.Refusal != "":
				return unmerged(with.Refusal)
			case p.Draft:
				return unmerged("Pull Request is still a draft")
			case s.unapproved(p) > 0:
				return unmerged(fmt.Sprintf("At least %d approving review is required by reviewers with write access.", with.Approvals))
			case !slices.Contains(with.Methods, method):
				return unmerged(words)
			case !p.Open || heads[p.Head] == "" || heads[p.Base] == "":
				return notMergeable()
			}
			return nil
		},
	}
}

// unmerged is the refusal of most of what is in a merge's way.
func unmerged(text string) refusal { return refusal{status: http.StatusMethodNotAllowed, text: text} }

func notMergeable() refusal { return unmerged("Pull Request is not mergeable") }

func headMoved() refusal {
	return refusal{status: http.StatusConflict, text: "Head branch was modified. Review and try the merge again."}
}

// standing is GitHub's mergeable_state.
func (p *pull) standing(s *Server) string {
	heads := p.repo.Heads()
	_, conflict := p.repo.Tree(heads[p.Base], heads[p.Head])
	switch with := p.repo.settings; {
	case !p.Open:
		return "unknown"
	case with.Standing == "" && p.Draft:
		return "draft"
	case with.Standing == "" && with.Queue:
		return "blocked"
	case with.Standing == "" && conflict != nil:
		return "dirty"
	case with.Standing == "" && (s.unapproved(p) > 0 || with.Conversations && p.unresolved()):
		return "blocked"
	default:
		return cmp.Or(with.Standing, "clean")
	}
}

// spread lists the branches at the commit of a status, and one that only contains it, as the
// real webhook does.
func spread(r *repository, sha string, out object) {
	branches := []any{object{"name": "release/contains-it", "commit": object{"sha": strings.Repeat("f", 40)}}}
	for branch, head := range r.Heads() {
		if head == sha {
			branches = append(branches, object{"name": branch, "commit": object{"sha": head}})
		}
	}
	out["name"], out["description"], out["branches"], out["commit"] = r.called, nil, branches, object{"sha": sha}
}
