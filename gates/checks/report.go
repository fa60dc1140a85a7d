package checks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// names reports whether a report or a deployment names one of the commits; an abbreviation of at
// least seven digits will do.
func names(sha string, commits []string) bool {
	return len(sha) >= 7 && slices.ContainsFunc(commits, func(c string) bool { return strings.HasPrefix(strings.ToLower(c), sha) })
}

// reported takes the report of the stage's role.
func reported(_ context.Context, s gates.Facts) gates.Verdict {
	return judgeReport(s, works(s), heads(s))
}

// judgeReport judges what the role of a stage has reported against the commits that it may be
// about. There being none, or one about another commit, is not a verdict: defer. A
// file in the branch is never one: who has written it cannot be proved.
func judgeReport(s gates.Facts, w stage.Info, commits []string) gates.Verdict {
	r, role := s.Filed, w.Role
	seen := gates.Evidence{Kind: "report", Name: fmt.Sprintf("the %s's, run %d", role, r.Run)}
	switch {
	case r.Role != role:
		none := gates.Evidence{Kind: "report", Name: "the " + string(role) + "'s", Note: "there is none"}
		return gates.Deferf("the %s has not reported yet", role).With(none)
	case r.Problem != "":
		seen.Note = r.Problem
		return gates.Errorf("the %s's report cannot be read: %s", role, r.Problem).With(seen)
	}
	seen.Note = fmt.Sprintf("%s for %.12s: %s", r.Verdict, r.SHA, r.Summary)
	seen.Provenance = stage.Provenance{Issuer: fmt.Sprintf("%s%d", stage.IssuerRun, r.Run), Proof: stage.ProofOutbox, SHA: r.SHA}
	switch {
	case !names(r.SHA, commits):
		return gates.Deferf("the %s's report is about %.12s, not about %.12s", role, r.SHA, last(commits)).With(seen)
	case slices.Contains(w.Good, r.Verdict):
		seen.OK = true
		return gates.Greenf("the %s's report says %s", role, r.Verdict).With(seen)
	case slices.Contains(w.Bad, r.Verdict):
		return gates.Redf("the %s's report says %s: %s", role, strings.ReplaceAll(r.Verdict, "_", " "), summary(r)).With(seen)
	default:
		want := strings.Join(append(slices.Clone(w.Good), w.Bad...), " or ")
		return gates.Errorf("the %s's report says %q, want %s", role, r.Verdict, want).With(seen)
	}
}

// at are the words of a built-in stage, or of the one of the facts where it is that or its role works there.
func at(s gates.Facts, which stage.Stage) stage.Info {
	built := stage.Default().Info(which)
	if w := works(s); s.Stage == which || w.Role == built.Role {
		return w
	}
	return built
}

func last(commits []string) string {
	if len(commits) == 0 {
		return "any commit"
	}
	return commits[0]
}

func summary(r stage.Filed) string {
	return cmp.Or(r.Summary, "no summary was given")
}

// heads are the commits that a report on the branch head may name.
func heads(s gates.Facts) []string {
	if len(s.SameCode) > 0 {
		return s.SameCode
	}
	return []string{s.SHA}
}

// testsPassed takes the tester's report, and more than its word where the service has
// commands to run: their exit codes.
func testsPassed(_ context.Context, s gates.Facts) gates.Verdict {
	v := judgeReport(s, at(s, stage.Testing), heads(s))
	if v.Outcome != gates.Green {
		return v
	}
	for _, command := range s.Policy.Verify {
		i := slices.IndexFunc(s.Filed.Verified, func(r stage.Verified) bool {
			return r.Command == command && slices.Contains(heads(s), r.SHA)
		})
		switch {
		case i < 0 && v.Outcome == gates.Red:
			continue // nothing is run behind the first that fails
		case i < 0:
			return gates.Deferf("the service has not run %s at %.12s", command, last(heads(s))).With(v.Evidence...)
		}
		r := s.Filed.Verified[i]
		seen := gates.Evidence{Kind: "command", Name: command, OK: r.Exit == 0, Provenance: r.Provenance}
		seen.Note = strings.TrimSuffix(fmt.Sprintf("exit code %d at %.12s; %s", r.Exit, r.SHA, r.Note), "; ")
		if r.Expired != "" {
			seen.OK, seen.Note = false, "it did not end within "+r.Expired
		}
		v = v.With(seen)
		if v.Outcome == gates.Green && !seen.OK {
			why := fmt.Sprintf("the service has run %s itself: %s, whatever the report says: %s", command, seen.Note, r.Tail)
			v.Outcome, v.Reason = gates.Red, strings.TrimSuffix(why, ": ")
		}
	}
	return v
}

func stagingStatus(_ context.Context, s gates.Facts) gates.Verdict {
	return deployed(s, stage.DeployStaging, heads(s))
}

func deployStatus(_ context.Context, s gates.Facts) gates.Verdict {
	if s.Deployed == "" {
		return gates.Deferf("nothing has been merged yet")
	}
	return deployed(s, stage.Deploy, []string{s.Deployed})
}

// Proved reports whether a deployment runs what it is to run at the subject's stage.
func Proved(s gates.Facts, p stage.Probed) bool {
	if s.Stage == stage.Deploy {
		return names(p.SHA, []string{s.Deployed})
	}
	return names(p.SHA, heads(s))
}

// deployed takes the deployer's report, and more than its word where the deployment says
// which commit it runs.
func deployed(s gates.Facts, which stage.Stage, commits []string) gates.Verdict {
	v := judgeReport(s, at(s, which), commits)
	address := s.Policy.Probe[s.Stage]
	if address == "" || v.Outcome != gates.Green {
		return v
	}
	seen := gates.Evidence{Kind: "probe", Name: address}
	p := s.Filed.Probed
	switch {
	case p == nil || p.Address != address:
		return gates.Deferf("the service has not read %s", address).With(v.Evidence...)
	case p.Problem != "":
		seen.Note = p.Problem
		return gates.Deferf("%s does not say which commit is deployed: %s", address, p.Problem).With(append(v.Evidence, seen)...)
	}
	seen.Provenance = p.Provenance
	seen.Note = fmt.Sprintf("it runs %.12s", p.SHA)
	if seen.OK = names(p.SHA, commits); !seen.OK {
		return gates.Redf("%s says that %.12s is deployed, not %.12s, whatever the report says", address, p.SHA, last(commits)).
			With(append(v.Evidence, seen)...)
	}
	return v.With(seen)
}

// reviewApproved takes the reviewer's report or the git host's reviews. An open
// request for changes on the head by a person outweighs both.
func reviewApproved(ctx context.Context, s gates.Facts) gates.Verdict {
	filed := judgeReport(s, at(s, stage.Review), heads(s))
	host, err := standing(ctx, s)
	if err != nil {
		if filed.Outcome == gates.Green || filed.Outcome == gates.Red {
			return filed.With(gates.Evidence{Kind: "review", Name: "git host", Note: err.Error()})
		}
		return unreachable("the reviews", err)
	}
	filed = filed.With(host.evidence...)
	switch {
	case host.objection != "":
		return gates.Redf("%s", host.objection).With(filed.Evidence...)
	case filed.Outcome == gates.Green || filed.Outcome == gates.Red:
		return filed
	case host.approval != "":
		return gates.Greenf("%s has approved the head", host.approval).With(filed.Evidence...)
	case host.uncounted != "":
		filed.Reason += "; " + host.uncounted
		return filed
	default:
		return filed
	}
}

// Objection returns the open request of a person for changes of the head; empty when there is none.
func Objection(ctx context.Context, s gates.Facts) (string, error) {
	o, err := standing(ctx, s)
	return o.objection, err
}

// opinion holds what the git host's reviews say of the head.
type opinion struct {
	approval, objection, uncounted string

	evidence []gates.Evidence
}

// standing sums up the newest review of each author on the head. Comments do
// not change an opinion, and an author who may not change the repository has none.
func standing(ctx context.Context, s gates.Facts) (o opinion, err error) {
	if s.Reviews == nil {
		return o, nil
	}
	list, err := s.Reviews.Reviews(ctx, s.Task.Repo, s.Task.Branch, s.Task.Main)
	if err != nil {
		return o, err
	}
	newest := map[string]githost.Review{}
	var authors []string
	for _, r := range list {
		if r.State == githost.ReviewCommented || !slices.Contains(heads(s), r.SHA) {
			continue
		}
		if why := uncounted(r, s.Policy.Reviewers); why != "" {
			note := string(r.State) + ", which does not count: " + why
			o.evidence = append(o.evidence, gates.Evidence{Kind: "review", Name: r.Author, Note: note, Provenance: r.Provenance()})
			o.uncounted = fmt.Sprintf("the review of %s does not count: %s", r.Author, why)
			continue
		}
		if _, seen := newest[r.Author]; !seen {
			authors = append(authors, r.Author)
		}
		newest[r.Author] = r
	}
	for _, author := range authors {
		r := newest[author]
		approves := r.State == githost.ReviewApproved
		e := gates.Evidence{Kind: "review", Name: author, Note: string(r.State), OK: approves, Provenance: r.Provenance()}
		o.evidence = append(o.evidence, e)
		switch r.State {
		case githost.ReviewApproved:
			o.approval = author
		case githost.ReviewChangesRequested:
			o.objection = strings.TrimSuffix(author+" requests changes: "+strings.TrimSpace(r.Body), ": ")
		}
	}
	return o, nil
}

// Counts reports whether what an account says of a change is taken for a reviewer's: it may
// write, or is one of the list.
func Counts(r githost.Review, listed []string) bool { return uncounted(r, listed) == "" }

// uncounted returns why a review does not count; empty when it does. Accounts of the
// list count without write permission.
func uncounted(r githost.Review, listed []string) string {
	named := slices.ContainsFunc(listed, func(name string) bool { return strings.EqualFold(name, r.Author) })
	switch {
	case r.Opener:
		return "the author of the pull request"
	case named, !r.Own && !r.Bot && r.Permission.MayWrite():
		return ""
	case r.Own:
		return "the service's own account"
	case r.Bot:
		return "a bot"
	case r.Permission == githost.PermissionUnknown:
		return "the git host does not say what the account may do"
	default:
		return "the account may not write (" + string(r.Permission) + ")"
	}
}
