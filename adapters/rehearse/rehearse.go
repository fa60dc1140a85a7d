// Package rehearse is an agent that costs nothing: it goes through every role, so that a
// board, a repository, its CI and the jail are seen to work before an agent is paid. It
// writes the documents that the gates want, and changes nothing else but a file beside them.
//
// It has looked at nothing, so it judges nothing but that: on a branch that changes any
// other file its reviewer asks for changes and its tester and deployer fail.
package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Name names the agent in the project registry.
const Name = "rehearse"

// Command is the hidden command of a program that ends in Main.
const Command = "rehearse-agent"

// file returns the path that the developer writes: beside the task's directory, so that it counts as work.
func (j job) file() string { return path.Join(path.Dir(j.docs), "rehearsal-"+j.item+".md") }

// Main is the main function of the agent: it works in the current directory by the
// SIGNALBOX_ variables that every agent gets, and returns the exit code.
func Main(out, errs io.Writer) int {
	env := func(name string) string { return os.Getenv("SIGNALBOX_" + name) }
	j := jobOf(stage.Role(env("ROLE")), env("WORK_ITEM"), env)
	j.owes = env("REPORT") != ""
	said, report, err := j.work(context.Background())
	if err == nil && j.owes {
		err = os.WriteFile(env("REPORT"), []byte(report), 0o600)
	}
	if err != nil {
		fmt.Fprintln(errs, "rehearsal:", err)
		return 1
	}
	// As Claude Code reports, which is how its caller reads it: a cost of 0 is known then.
	if json.NewEncoder(out).Encode(map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "result": said, "total_cost_usd": 0,
	}) != nil {
		return 1
	}
	return 0
}

// job is one run.
type job struct {
	dir             string // the checkout; empty = the working directory
	role            stage.Role
	item, docs, sha string
	owes            bool     // a report
	verdicts        []string // of the report: the good one and the bad one
	owed            []string // documents
}

// jobOf is the job of a role by its environment, whose names come without SIGNALBOX_.
func jobOf(role stage.Role, item string, env func(name string) string) job {
	return job{
		role: role, item: item, docs: env("DOCS"), sha: env("SHA"),
		verdicts: strings.Fields(env("VERDICTS")), owed: strings.Fields(env("DOCUMENTS")),
	}
}

// work does the work of the role and returns a sentence on it, and the report that is owed.
func (j job) work(ctx context.Context) (said, report string, err error) {
	if !filepath.IsLocal(j.docs) || j.item == "" {
		return "", "", errors.New("SIGNALBOX_DOCS and SIGNALBOX_WORK_ITEM are missing: the service starts this agent")
	}
	if j.owes {
		return j.judge(ctx)
	}
	said, err = j.write(ctx)
	return said, "", err
}

// write commits the documents that a role owes.
func (j job) write(ctx context.Context) (string, error) {
	files := j.documents()
	if err := os.MkdirAll(filepath.Join(j.dir, j.docs), 0o755); err != nil {
		return "", err
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(j.dir, name), []byte(body), 0o600); err != nil {
			return "", err
		}
		if _, err := j.git(ctx, "add", "--", name); err != nil {
			return "", err
		}
	}
	if _, err := j.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return "An earlier attempt has written it.", nil
	}
	_, err := j.git(ctx, "commit", "--quiet", "-m", j.item+": rehearsal of the "+string(j.role))
	return "The rehearsal's " + string(j.role) + " has written what its role owes.", err
}

// documents returns what a role without a report owes, by path.
func (j job) documents() map[string]string {
	const note = "\nThis is a rehearsal: no agent has read the card.\n"
	if j.role == stage.Developer {
		return map[string]string{j.file(): "# Rehearsal of " + j.item + "\n" + note}
	}
	out := map[string]string{}
	for _, name := range j.owed {
		title := strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], ".md")
		out[j.docs+"/"+name] = "# " + title + " of " + j.item + "\n\n1. The card goes through every stage.\n" + note
	}
	return out
}

// judge makes the report of a role that owes one.
func (j job) judge(ctx context.Context) (summary, report string, err error) {
	if len(j.verdicts) != 2 {
		return "", "", errors.New("SIGNALBOX_VERDICTS is missing: the service says how the role may judge")
	}
	strange, err := j.strange(ctx)
	if err != nil {
		return "", "", err
	}
	word, summary := j.verdicts[0], "a rehearsal: nothing but its own documents was changed, nothing was looked at or deployed"
	if strange != "" {
		word, summary = j.verdicts[1], "the rehearsal agent judges nothing but its own documents, and the branch changes "+strange
	}
	return summary, gates.FormatReport(word, j.sha, summary), nil
}

// strange is a file outside the task's directory that the branch changes; empty: there is
// none. Main is the only branch of the remote in the checkout.
func (j job) strange(ctx context.Context) (string, error) {
	main, err := j.git(ctx, "for-each-ref", "--format=%(refname)", "refs/remotes/origin")
	if err != nil {
		return "", err
	}
	if main = strings.TrimSpace(main); main == "" || strings.Contains(main, "\n") {
		return "", errors.New("the checkout has not one main branch")
	}
	list, err := j.git(ctx, "diff", "--name-only", "--no-renames", "-z", main+"...HEAD", "--")
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if name != "" && !strings.HasPrefix(name, j.docs+"/") && name != j.file() {
			return fmt.Sprintf("%q", name), nil
		}
	}
	return "", nil
}

// git runs git in the checkout.
func (j job) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = j.dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
