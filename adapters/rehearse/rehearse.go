// Package rehearse is an agent that costs nothing: it goes through every role, so that a
// board, a repository, its CI and the jail are seen to work before an agent is paid. It
// writes the documents that the gates want and changes nothing but the task's own directory.
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
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Name is what the project registry calls the agent.
const Name = "rehearse"

// Command is the hidden command of a program that ends in Main.
const Command = "rehearse-agent"

// File is what the developer writes into the directory of the task.
const File = "rehearsal.md"

// Main is the main function of the agent: it works in the current directory by the
// SIGNALBOX_ variables that every agent gets, and returns the exit code.
func Main(out, errs io.Writer) int {
	j := job{}
	for name, into := range map[string]*string{"ROLE": &j.role, "STAGE": &j.stage, "PHASE": &j.phase, "WORK_ITEM": &j.item, "DOCS": &j.docs, "SHA": &j.sha, "REPORT": &j.report} {
		*into = os.Getenv("SIGNALBOX_" + name)
	}
	said, err := j.work(context.Background())
	if err != nil {
		fmt.Fprintln(errs, "rehearsal:", err)
		return 1
	}
	// As Claude Code reports, which is how its caller reads it: a cost of 0 is known then.
	err = json.NewEncoder(out).Encode(map[string]any{"type": "result", "subtype": "success", "is_error": false, "result": said, "total_cost_usd": 0})
	if err != nil {
		return 1
	}
	return 0
}

// job is one run, by the environment of the agent.
type job struct {
	role, stage, phase, item, docs, sha string
	report                              string // file; empty when the job owes none
}

// work does the work of the role and returns a sentence on it.
func (j job) work(ctx context.Context) (string, error) {
	if !filepath.IsLocal(j.docs) || j.item == "" {
		return "", errors.New("SIGNALBOX_DOCS and SIGNALBOX_WORK_ITEM are missing: the service starts this agent")
	}
	if j.report != "" {
		return j.judge(ctx)
	}
	files := j.documents()
	if err := os.MkdirAll(j.docs, 0o755); err != nil {
		return "", err
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(j.docs, name), []byte(body), 0o600); err != nil {
			return "", err
		}
	}
	if _, err := git(ctx, "add", "--", j.docs); err != nil {
		return "", err
	}
	if _, err := git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return "An earlier attempt has written it.", nil
	}
	_, err := git(ctx, "commit", "--quiet", "-m", j.item+": rehearsal of the "+j.role)
	return "The rehearsal's " + j.role + " has written what its role owes.", err
}

// documents are what a role without a report owes, by name.
func (j job) documents() map[string]string {
	const note = "\nThis is a rehearsal: no agent has read the card.\n"
	switch {
	case j.role == string(stage.Analyst):
		return map[string]string{
			"requirements.md": "# Requirements of " + j.item + "\n\n1. The card goes through every stage.\n" + note,
			"acceptance.md":   "# Acceptance\n\n- The card is Done.\n" + note,
		}
	case j.role == string(stage.Architect):
		return map[string]string{"design.md": "# Design\n\nThe developer adds " + File + " beside this file, and nothing else.\n" + note}
	case j.role == string(stage.Deployer):
		return map[string]string{"deploy-plan.md": "# Plan\n\nNothing is deployed.\n" + note}
	default:
		return map[string]string{File: "# Rehearsal of " + j.item + "\n" + note}
	}
}

// judge writes the report of a role that owes one.
func (j job) judge(ctx context.Context) (string, error) {
	words := map[stage.Role][2]string{stage.Reviewer: {"approved", "changes_requested"}, stage.Tester: {"passed", "failed"}, stage.Deployer: {"success", "failure"}}
	verdict, ok := words[stage.Role(j.role)]
	if !ok {
		return "", fmt.Errorf("the role %q owes no report", j.role)
	}
	strange, err := j.strange(ctx)
	if err != nil {
		return "", err
	}
	word, summary := verdict[0], "a rehearsal: nothing but its own documents was changed, nothing was looked at or deployed"
	if strange != "" {
		word, summary = verdict[1], "the rehearsal agent judges nothing but its own documents, and the branch changes "+strange
	}
	body := fmt.Sprintf("---\nverdict: %s\nsha: %s\nsummary: %s\n---\n", word, j.sha, summary)
	return summary, os.WriteFile(j.report, []byte(body), 0o600)
}

// strange is a file outside the task's directory that the branch changes; empty: there is
// none. Main is the only branch of the remote in the checkout.
func (j job) strange(ctx context.Context) (string, error) {
	main, err := git(ctx, "for-each-ref", "--format=%(refname)", "refs/remotes/origin")
	if err != nil {
		return "", err
	}
	if main = strings.TrimSpace(main); main == "" || strings.Contains(main, "\n") {
		return "", errors.New("the checkout has not one main branch")
	}
	list, err := git(ctx, "diff", "--name-only", "--no-renames", "-z", main+"...HEAD", "--")
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if name != "" && !strings.HasPrefix(name, j.docs+"/") {
			return fmt.Sprintf("%q", name), nil
		}
	}
	return "", nil
}

// git runs git in the checkout.
func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
