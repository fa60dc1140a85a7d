package forgetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// Prefix begins the path of every call of Gitea's interface, as in Break.
const Prefix = "/api/v1"

func gitea() dialect {
	const repo = "/repos/{owner}/{repo}"
	notFound := refusal{status: http.StatusNotFound, text: "The target couldn't be found."}
	proxy := refusal{status: http.StatusTooManyRequests, text: "Too Many Requests"}
	return dialect{
		gitea: true, prefix: Prefix,
		schemes: []string{"token", "Bearer"}, media: "application/json;charset=utf-8", size: "limit", pageMax: 50, moment: time.RFC3339,
		web: "https://git.example.org/", clones: "https://git.example.org/", pullPage: "pulls",
		methods: []string{"merge", "squash", "rebase", "rebase-merge"}, state: "status",
		allows: map[string]string{
			"merge": "allow_merge_commits", "squash": "allow_squash_merge", "rebase": "allow_rebase",
			"rebase-merge": "allow_rebase_explicit", "fast-forward-only": "allow_fast_forward_only_merge",
		},
		order: [3]string{"Do", "MergeTitleField", "head_commit_id"},
		events: map[string]string{
			"pull_request_sync": "pull_request", "issue_label": "issues", "pull_request_comment": "issue_comment",
			"pull_request_review_approved": "pull_request_approved", "pull_request_review_rejected": "pull_request_rejected",
			"pull_request_review_comment": "pull_request_comment",
		},
		synced: "synchronized", reviewed: "reviewed",
		faults: map[fakehttp.Fault]refusal{
			fakehttp.TooMany: proxy, fakehttp.Secondary: proxy, fakehttp.Primary: proxy,
			fakehttp.ErrorBefore: {status: http.StatusInternalServerError},
			fakehttp.Denied: {status: http.StatusForbidden, text: "token does not have at least one of required scope(s), " +
				"required=[write:repository], token scope=read:repository"},
		},
		badToken:   refusal{status: http.StatusUnauthorized, text: "invalid username, password or token"},
		unreadable: refusal{status: http.StatusUnprocessableEntity},
		notFound:   notFound, noBranch: notFound, noRef: notFound, noAccount: notFound,
		noHooks:  refusal{status: http.StatusForbidden, text: "user should be an owner or a collaborator with admin write of a repository"},
		stale:    refusal{status: http.StatusConflict, text: "head out of date"},
		raced:    refusal{status: http.StatusConflict, text: "merge push out of date"},
		conflict: unmerged("Please try again later"),
		routes: map[string]func(*call){
			"GET /version": func(c *call) { c.ok(object{"version": "1.26.0"}) },

			"GET " + repo + "/branches":                     (*call).listBranches,
			"DELETE " + repo + "/branches/{branch...}":      (*call).deleteBranch,
			"POST " + repo + "/statuses/{sha}":              (*call).createStatus,
			"POST " + repo + "/pulls/{number}/merge":        (*call).mergePull,
			"POST " + repo + "/pulls/{number}/reviews":      (*call).createReview,
			"POST " + repo + "/pulls/comments/{id}/resolve": (*call).resolveLine,

			"GET " + repo + "/pulls/{number}/reviews/{id}/comments": (*call).reviewComments,

			"GET " + repo + "/issues/{number}/timeline":     func(c *call) { c.listIn(c.wireLog(c.i)) },
			"GET " + repo + "/issues/{number}/dependencies": (*call).listBlockers,
		},
		head: giteaHead,
		wireRefuse: func(no refusal) object {
			out := object{"message": no.text, "url": "https://git.example.org/api/swagger"}
			if no.status == http.StatusNotFound {
				out["errors"] = []string{}
			}
			return out
		},
		wireBranch: func(r *repository, name, sha string) object {
			contexts, protected := r.settings.Required[name]
			return object{
				"name": name, "commit": object{"id": sha, "message": ""}, "protected": protected,
				"user_can_push": !protected, "user_can_merge": r.settings.Push, "required_approvals": r.settings.Approvals,
				"enable_status_check": len(contexts) > 0, "status_check_contexts": append([]string{}, contexts...),
			}
		},
		wireHook: func(h Hook, id int) object {
			return object{
				"id": id, "type": "gitea", "branch_filter": "*", "active": h.Active, "events": h.Events, "authorization_header": "",
				"config": object{"url": h.URL, "content_type": h.ContentType},
			}
		},
		more: func(s *Server, p *pull, out, head, base object) {
			heads := p.repo.Heads()
			if heads[p.Head] == "" {
				head["ref"] = fmt.Sprintf("refs/pull/%d/head", p.Number)
			}
			base["repo_id"], head["repo_id"] = p.repo.id, p.repo.id
			if p.fork {
				head["repo_id"], head["repo"] = -p.repo.id, nil // as of one that was deleted since
			}
			out["mergeable"], out["merge_base"] = p.mergeable(), ""
			if p.Open && !p.fork {
				out["merge_base"] = p.repo.MergeBase(heads[p.Base], fmt.Sprint(head["sha"]))
			}
		},
		mayOpen: func(c *call, title, head, base string) error {
			heads := c.at.Heads()
			switch twin := c.twin(head, base); {
			case title == "":
				return refusal{status: http.StatusUnprocessableEntity, text: "[Title]: Required"}
			case head == base:
				return refusal{
					status: http.StatusUnprocessableEntity, text: "Invalid PullRequest: There are no changes between the head and the base",
				}
			case heads[head] == "" || heads[base] == "":
				return notFound
			case twin != nil:
				return refusal{status: http.StatusConflict, text: fmt.Sprintf("pull request already exists for these targets "+
					"[id: %d, issue_id: %d, head_repo_id: %d, base_repo_id: %d, head_branch: %s, base_branch: %s]",
					twin.Number, twin.Number, c.at.id, c.at.id, head, base)}
			}
			return nil
		},
		// mayMerge looks at what Gitea looks at before it merges, in its order.
		mayMerge: func(s *Server, p *pull, style string) error {
			with := p.repo.settings
			switch {
			case p.Merged:
				return unmerged("The PR is already merged") // older ones answer without a word
			case !p.Open:
				return notFound
			case !with.Push:
				return unmerged("User not allowed to merge PR")
			case p.isDraft():
				return unmerged("Work in progress PRs cannot be merged")
			case !p.mergeable():
				return unmerged("Please try again later") // also what conflicts
			case with.Refusal != "":
				return unmerged(with.Refusal)
			case !p.green():
				return unmerged("Not all required status checks successful")
			case s.unapproved(p) > 0:
				return unmerged("Does not have enough approvals")
			case !slices.Contains(with.Methods, style):
				return unmerged(style + " is not allowed an allowed merge style for this repository")
			}
			return nil
		},
	}
}

// giteaHead sets the headers of a webhook: Gitea's, and those that it imitates.
func giteaHead(s *Server, h http.Header, d fakehttp.Delivery) {
	event, kind, _ := strings.Cut(d.Event, " ")
	families := []string{"X-Gitea-", "X-Gogs-", "X-GitHub-"}
	if s.opt.Forgejo {
		families = append(families, "X-Forgejo-")
	}
	old, signature := s.signatures(d.Body)
	if old != "" {
		h.Set("X-Hub-Signature", "sha1="+old)
	}
	h.Set("X-Hub-Signature-256", "sha256="+signature) // empty without a secret, and there all the same
	for _, family := range families {
		h.Set(family+"Delivery", d.ID)
		h.Set(family+"Event", event)
		h.Set(family+"Event-Type", kind)
		if family != "X-GitHub-" {
			h.Set(family+"Signature", signature)
		}
	}
	h.Set("X-Gitea-Hook-Installation-Target-Type", "repository")
}

// green reports whether what the base requires has reported success. Here a star stands
// for anything, at the end of a pattern alone.
func (p *pull) green() bool {
	latest := p.repo.latest(p.repo.Heads()[p.Head])
	for _, pattern := range p.repo.settings.Required[p.Base] {
		start, star := strings.CutSuffix(pattern, "*")
		if !slices.ContainsFunc(latest, func(st status) bool {
			return st.state == "success" && (st.context == pattern || star && strings.HasPrefix(st.context, start))
		}) {
			return false
		}
	}
	return true
}

func (c *call) listBranches() {
	heads := c.at.Heads()
	rows := []any{}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		rows = append(rows, c.wireBranch(c.at, name, heads[name]))
	}
	c.list(rows)
}

func (c *call) createStatus() {
	var in struct{ State, Context, Description string }
	if !c.decode(&in) {
		return
	}
	if !slices.Contains(states(), in.State) {
		c.fail(refusal{status: http.StatusUnprocessableEntity, text: "invalid state"})
		return
	}
	given := status{context: in.Context, state: in.State, description: in.Description, creator: c.login(c.r)}
	st := c.storeStatus(c.at, c.r.PathValue("sha"), given)
	c.reply(http.StatusCreated, c.wireStatus(st, c.state))
}

// listed are the events of a webhook as they are listed; pull_request is many.
func listed(asked []string) (out []string) {
	for _, e := range asked {
		if out = append(out, e); e == "pull_request" {
			out = append(out, "pull_request_assign", "pull_request_label", "pull_request_milestone", "pull_request_comment",
				"pull_request_review", "pull_request_review_request", "pull_request_sync")
		}
	}
	return out
}
