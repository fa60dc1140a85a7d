package gitcli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Replicas hand a task's commits to each other through the remote: what is taken
// from a checkout is pushed under a name of its own that no one's CI looks at,
// and the next replica that works on the task fetches it from there. Commits do not
// change, so there is no conflict to resolve.

// handoverRef is the remote name under which a commit is handed over.
func handoverRef(p checkout, sha string) string { return "refs/signalbox/" + p.WorkItem + "/" + sha }

// handOverMax is how often a commit is tried to be handed over to a remote that does
// not answer, with pauses of 1 s, 2 s, 4 s …: an agent's work is worth two minutes.
const handOverMax = 8

// handOver pushes a commit that others may have to go on from.
func (g *Git) handOver(ctx context.Context, p checkout, sha string) error {
	if !g.opt.Shared || sha == "" || sha == p.Head {
		return nil
	}
	for n := 0; ; n++ {
		_, err := g.remotely(ctx, p, "push", "--quiet", "--no-verify", "--force", "--", p.CloneURL, sha+":"+handoverRef(p, sha))
		if n == handOverMax-1 || !fault.Retryable(err) {
			return err
		}
		g.log(p).Warn("a commit could not be handed over; it is tried again", "err", err)
		if run.Sleep(ctx, run.Real{}, time.Second<<n) != nil {
			return err
		}
	}
}

// fetchHandover brings the commit that the space names into the mirror, and the branch
// to it: what was decided counts, and not what an attempt that was given up has
// left in this mirror.
func (g *Git) fetchHandover(ctx context.Context, p checkout) error {
	if !g.opt.Shared || p.Head == "" {
		return nil
	}
	if err := checkIDs(p.Head); err != nil {
		return err
	}
	if err := g.fetchHanded(ctx, p, p.Head); err != nil {
		return err
	}
	ref := "refs/heads/" + p.Branch
	have, err := g.ref(ctx, p.mirror, ref)
	if err != nil || have == p.Head {
		return err
	}
	if have != "" {
		if newer, err := g.ancestor(ctx, p, p.Head, have); err != nil || newer {
			return err
		}
	}
	_, err = g.git(ctx, p.mirror, "update-ref", ref, p.Head)
	return err
}

func (g *Git) obtainLocked(ctx context.Context, p checkout) error {
	defer g.lockMirror(ctx, p)()
	return g.fetchHandover(ctx, p)
}

// reach fetches a commit that the mirror lacks, for calls that hold no lock.
func (g *Git) reach(ctx context.Context, p checkout, sha string) error {
	if !g.opt.Shared {
		return nil
	}
	defer g.lockMirror(ctx, p)()
	return g.fetchHanded(ctx, p, sha)
}

// fetchHanded fetches a commit that the mirror lacks: as it was handed over, or
// as the published branch has it. Main comes with it, or before: the commit may stand on
// a newer one than the mirror has, whose changes are not the task's.
func (g *Git) fetchHanded(ctx context.Context, p checkout, sha string) error {
	if err := g.makeMirror(ctx, p); err != nil {
		return err
	}
	has := func() bool {
		_, err := g.git(ctx, p.mirror, "cat-file", "-e", sha+"^{commit}")
		return err == nil
	}
	if has() {
		return nil
	}
	err := g.fetch(ctx, p, handoverRef(p, sha), tracked(p.Main))
	if err == nil {
		return nil
	}
	if failed := g.fetchMain(ctx, p); failed != nil {
		return errors.Join(failed, err)
	}
	if err = errors.Join(err, g.fetchCommit(ctx, p)); !has() {
		return errors.Join(fmt.Errorf("the commit %.12s of %s is neither in the mirror nor on the remote", sha, p.WorkItem), err)
	}
	return nil
}

// begin finds where a task stands that nothing was decided for yet: the remote
// branch says it. What this mirror has besides is of an earlier task.
func (g *Git) begin(ctx context.Context, p checkout) error {
	if !g.opt.Shared || p.Head != "" {
		return nil
	}
	tip, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err != nil || tip == "" {
		return err
	}
	published, err := g.remote(ctx, p)
	if err != nil {
		return err
	}
	if published != "" {
		if err := g.fetchHanded(ctx, p, published); err != nil {
			return err
		}
		if same, err := g.sameTask(ctx, p, published, tip); err != nil || same {
			return err
		}
	}
	if _, err := g.git(ctx, p.mirror, "update-ref", "-d", "refs/heads/"+p.Branch, tip); err != nil {
		return err
	}
	return g.remove(p.mark) // the checkout is the earlier task's too
}

// sameTask reports whether two commits have more in common than main.
func (g *Git) sameTask(ctx context.Context, p checkout, a, b string) (bool, error) {
	out, err := g.git(ctx, p.mirror, "merge-base", a, b)
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := g.fetchMain(ctx, p); err != nil {
		return false, err
	}
	onMain, err := g.ancestor(ctx, p, strings.TrimSpace(out), "refs/remotes/origin/"+p.Main)
	return !onMain, err
}

// claimBranch publishes the first commit of a branch, unless another replica has
// begun it meanwhile: then its commit is taken.
func (g *Git) claimBranch(ctx context.Context, p checkout, tip string) (string, error) {
	if !g.opt.Shared {
		return tip, nil
	}
	err := g.moveRemote(ctx, p, "refs/heads/"+p.Branch, "", tip)
	if err == nil {
		return tip, nil
	}
	other, again := g.adopt(ctx, p)
	if again != nil {
		return "", again
	}
	if other == "" {
		return "", err // refused for another reason
	}
	return other, nil
}

// surpassed reports whether a commit lacks the one that the task stands at, because
// others went on without it.
func (g *Git) surpassed(ctx context.Context, p checkout, sha string) (bool, error) {
	if !g.opt.Shared || p.Head == "" {
		return false, nil
	}
	has, err := g.ancestor(ctx, p, p.Head, sha)
	return !has, err
}

// onto is the remote name of what came out when the task's commit was rebased.
func onto(p checkout) string { return "refs/signalbox/" + p.WorkItem + "/onto/" + p.Head }

// rebasedRef is the mirror's own name of what came out.
func rebasedRef(p checkout, of string) string { return leftRefs + p.WorkItem + "/onto/" + of }

// caughtUp finds what came out when another replica rebased the task's commit
// and died before it could say so: a commit is brought up to date once, so that
// two replicas never publish two results. Nothing is found where there is none.
func (g *Git) caughtUp(ctx context.Context, p checkout) (done work.CaughtUp, err error) {
	if !g.opt.Shared || p.Head == "" {
		return done, nil
	}
	out, err := g.remotely(ctx, p, "ls-remote", "--quiet", "--", p.CloneURL, onto(p))
	sha, _, _ := strings.Cut(out, "\t")
	if err != nil || !commitID(sha) {
		return done, err
	}
	if err := g.fetchHanded(ctx, p, sha); err != nil {
		return done, err
	}
	base, err := g.git(ctx, p.mirror, "merge-base", sha, "refs/remotes/origin/"+p.Main)
	if err != nil {
		return done, err
	}
	if _, err := g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, sha); err != nil {
		return done, err
	}
	return work.CaughtUp{SHA: sha, Base: strings.TrimSpace(base)}, nil
}

func (g *Git) caughtUpLocked(ctx context.Context, p checkout) (work.CaughtUp, error) {
	defer g.lockMirror(ctx, p)()
	return g.caughtUp(ctx, p)
}

// handOverOnto publishes the result of a rebase to the other replicas. When one of
// them was faster, its result is returned and counts.
func (g *Git) handOverOnto(ctx context.Context, p checkout, tip string) (other work.CaughtUp, err error) {
	if !g.opt.Shared || p.Head == "" {
		return other, nil
	}
	if err := g.handOver(ctx, p, tip); err != nil {
		return other, err
	}
	if err = g.moveRemote(ctx, p, onto(p), "", tip); err == nil {
		return other, nil
	}
	other, again := g.caughtUp(ctx, p)
	if again == nil && other.SHA == "" {
		again = err // refused for another reason
	}
	return other, again
}

// forget removes what was handed over from the remote, when nobody needs it.
func (g *Git) forget(ctx context.Context, p checkout) {
	if !g.opt.Shared {
		return
	}
	prefix := "refs/signalbox/" + p.WorkItem + "/"
	out, err := g.remotely(ctx, p, "ls-remote", "--quiet", "--", p.CloneURL, prefix+"*")
	args := []string{"push", "--quiet", "--no-verify", "--", p.CloneURL}
	found := false
	for line := range strings.Lines(out) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if id, ours := strings.CutPrefix(ref, prefix); ours && commitID(strings.TrimPrefix(id, "onto/")) {
			args, found = append(args, ":"+ref), true
		}
	}
	if err == nil && found {
		_, err = g.remotely(ctx, p, args...)
	}
	if err != nil { // they cost a few bytes
		g.log(p).Warn("commits that were handed over stay on the remote", "err", err)
	}
}

// What a remote's hook or an HTTP server prints is shown line by line behind this.
const fromRemote = "remote: "

var (
	// httpStatus is that of a remote's HTTP server.
	httpStatus = regexp.MustCompile(`(?m)(?:The requested URL returned error:|^error: RPC failed; HTTP) (\d{3})`)
	// rejected is the line of a ref that was not pushed; in brackets is why.
	rejected = regexp.MustCompile(`(?m)^ ! \[(?:remote )?rejected\] .*\((.*)\)$`)
	// answered is a refusal in the service's own words.
	answered = regexp.MustCompile(`(?ms)^fatal: remote error: (.*)`)
	// later are the reasons, of the two before, that are none for good: a ref that is
	// locked, or has moved meanwhile, or a service that is not well.
	later = regexp.MustCompile(`(?i)\block|failed to update ref|stale info|incorrect old value|internal` +
		`|time ?out|timed out|try again|temporar|unavailable|too many|overload`)
	// refused matches the other words of git for a call that will end so again.
	refused = regexp.MustCompile(`(?m)^(?:` + strings.Join([]string{
		// No credentials, or wrong ones.
		`fatal: Authentication failed for `, `fatal: could not read (?:Username|Password) for `,
		`\S+: Permission denied \(`,
		`fatal: repository '.*' not found$`, `fatal: '.*' does not appear to be a git repository$`,
		`(?:remote: )?ERROR: .*(?:not found|not be found|denied|permission)`,
		`fatal: couldn't find remote ref `, `fatal: fsck error in `, `fatal: invalid refspec `,
		`.*exists; cannot create `, // a branch is in the way of the directory that another's name needs
	}, "|") + `)`)
)

// shortage matches git's own words for a disk that is full, or cannot be written to.
var shortage = regexp.MustCompile(
	`(?m)^(?:fatal|error): .*(?:: (?:No space left on device|Disk quota exceeded|Read-only file system)|\. Out of diskspace)$`)

// final reports whether git says, or what is behind the remote, that the same call
// will be refused again. It reads the messages, which are English (LC_ALL=C): the exit
// code is 128 for a name that cannot be resolved and for a wrong password alike. What
// it has no words for may pass.
func final(stderr string) bool {
	if strings.Contains(strings.ToLower(stderr), "rate limit") { // a host's limit comes as a 403
		return false
	}
	own := ""
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, fromRemote) { // words of others are no words of git
			own += line
		}
	}
	if m := httpStatus.FindStringSubmatch(own); m != nil {
		status, _ := strconv.Atoi(m[1]) // it is three digits
		return !fault.Passes(status)
	}
	if refused.MatchString(stderr) {
		return true
	}
	for _, reason := range []*regexp.Regexp{rejected, answered} {
		if m := reason.FindStringSubmatch(own); m != nil {
			return !later.MatchString(m[1])
		}
	}
	return false
}
