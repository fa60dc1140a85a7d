package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// job is the environment of a scripted agent, decoded.
type job struct {
	role, stage, phase, item, docs, sha, title, feedback, repo, dir, model string
	run, attempt                                                           int
	speed                                                                  float64
}

func readJob() (job, error) {
	env := func(name string) string { return os.Getenv("SIGNALBOX_" + name) }
	j := job{
		role: env("ROLE"), stage: env("STAGE"), phase: env("PHASE"), item: env("WORK_ITEM"), docs: env("DOCS"), sha: env("SHA"),
		title: strings.ToLower(env("TITLE")), feedback: env("FEEDBACK"), repo: env("REPO"), dir: os.Getenv("DEMO_DIR"), model: env("MODEL"),
	}
	var err1, err2, err3 error
	j.run, err1 = strconv.Atoi(env("RUN"))
	j.attempt, err2 = strconv.Atoi(env("ATTEMPT"))
	j.speed, err3 = strconv.ParseFloat(os.Getenv("DEMO_SPEED"), 64)
	return j, errors.Join(err1, err2, err3)
}

// agent is a scripted agent's process: it takes a moment, writes what its role
// writes, commits it and reports: what it does line by line, the result like Claude Code.
func agent(out, errs io.Writer) int {
	j, err := readJob()
	if err == nil {
		err = j.work(out)
	}
	if err != nil {
		fmt.Fprintln(errs, "agent:", err)
		return 1
	}
	if err := json.NewEncoder(out).Encode(j.report()); err != nil {
		return 1
	}
	return 0
}

func (j job) work(out io.Writer) error {
	if err := j.pause(out); err != nil {
		return err
	}
	if at := os.Getenv("DEMO_STRIKES"); at != "" && rand.IntN(3) == 0 { // the server is killed while its agent is at work
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
	}
	if j.role == "developer" && strings.Contains(j.feedback, "conflicts with") {
		return j.resolve()
	}
	files := j.files()
	if verdict, _, judges := strings.Cut(os.Getenv("SIGNALBOX_VERDICTS"), " "); judges {
		files[os.Getenv("SIGNALBOX_REPORT")] = gates.FormatReport(verdict, j.sha, "checked by a script") + "\nThis is a demonstration.\n"
	}
	for name, body := range files {
		if err := write(name, body); err != nil {
			return err
		}
	}
	say(out, 0, written(files))
	if j.stage == "deploy" && j.phase == "deploy" {
		if err := j.deploy(); err != nil {
			return err
		}
	}
	return j.commit()
}

// pause is the time that the work takes: long enough for a developer's to be followed. A
// stuck agent says so, and waits to be killed.
func (j job) pause(out io.Writer) error {
	if strings.Contains(j.title, stuck) && j.role == "tester" {
		mark := filepath.Join(j.dir, "stuck-"+j.item)
		if !exists(mark + ".killed") {
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				return err
			}
			time.Sleep(time.Minute)
		}
	}
	n := j.number("time", 700) + 900
	if j.role == "developer" {
		n *= 3
	}
	say(out, time.Duration(float64(n)/j.speed*float64(time.Millisecond)), j.thoughts())
	return nil
}

// files returns what the role writes, by path.
func (j job) files() map[string]string {
	doc := func(name, body string) map[string]string { return map[string]string{filepath.Join(j.docs, name): body} }
	switch {
	case j.role == "analyst" && strings.Contains(j.title, unclear) && !exists(filepath.Join(j.docs, stage.QuestionsFile)):
		return doc(stage.QuestionsFile, question+"\n")
	case j.role == "analyst":
		files := doc("requirements.md", "# Requirements of "+j.item+"\n\n1. "+j.title+"\n")
		files[filepath.Join(j.docs, "acceptance.md")] = "# Acceptance\n\n- it works\n"
		return files
	case j.role == "architect":
		return doc("design.md", "# Design\n\nOne file for "+j.item+".\n")
	case j.role == "developer":
		state := "builds\n"
		if strings.Contains(j.title, flawed) && j.feedback == "" {
			state = "does not build\n"
		}
		files := map[string]string{filepath.Join("src", strings.ToLower(j.item)+".txt"): j.title + "\n" + state}
		if strings.Contains(j.title, rivalled) {
			files[shared] = j.title + "\n"
		}
		return files
	case j.role == "deployer" && j.phase == "a":
		return doc("deploy-plan.md", "# Plan\n\nCommit "+j.sha+" goes out.\n")
	}
	return map[string]string{}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// deploy puts a commit where the demo can see what is out.
func (j job) deploy() error {
	name := filepath.Join(production(j.dir, j.repo), j.item)
	if strings.Contains(j.title, harmful) {
		if err := write(name+".harmful", ""); err != nil {
			return err
		}
	}
	return write(name, j.sha+"\n")
}

func write(name, body string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(body), 0o600)
}

func git(args ...string) error {
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args, err, out)
	}
	return nil
}

// resolve rebases the branch onto main and keeps what both sides wrote.
func (j job) resolve() error {
	_ = git("rebase", "--quiet", "--abort") // of an attempt that was killed
	if git("rebase", "--quiet", "origin/main") == nil {
		return nil
	}
	theirs, err := exec.Command("git", "show", "origin/main:"+shared).Output()
	if err != nil {
		return fmt.Errorf("git show: %w", err)
	}
	if err := errors.Join(write(shared, string(theirs)+j.title+"\n"), git("add", shared)); err != nil {
		return err
	}
	return git("-c", "core.editor=true", "rebase", "--continue")
}

// commit commits what has changed, if anything.
func (j job) commit() error {
	if err := git("add", "--all"); err != nil {
		return err
	}
	if git("diff", "--cached", "--quiet") == nil {
		return nil // done in an earlier attempt
	}
	return git("commit", "--quiet", "-m", j.item+": "+j.role)
}

// number is a number below max that is always the same for one run.
func (j job) number(what string, limit int) int {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s %d %s", j.item, j.repo, j.role, j.run, what)
	return int(h.Sum64() % uint64(limit))
}

// models returns the models that the agents of the roles claim to be, as the registry has them.
func models() map[string]string {
	const small, middle, large = "claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-8"
	return map[string]string{
		"analyst":   middle,
		"architect": large,
		"developer": middle,
		"reviewer":  "gpt-5.5",
		"tester":    small,
		"deployer":  small,
	}
}

// usage counts the tokens of a run: disjoint.
type usage struct {
	in, out, read, made int
	price               float64 // in dollars for a million tokens of input
}

func (j job) usage() usage {
	u := usage{j.number("in", 4000) + 500, j.number("out", 6000) + 800, j.number("read", 200_000) + 20_000, j.number("made", 20_000), 3}
	if price, other := map[string]float64{"claude-haiku-4-5": 1, "claude-opus-4-8": 5, "gpt-5.5": 2}[j.model]; other {
		u.price = price
	}
	return u
}

// cost is in dollars.
func (u usage) cost() float64 {
	return u.price * (float64(u.in) + float64(u.out)*5 + float64(u.read)*0.1 + float64(u.made)*1.25) / 1e6
}

// report returns what Claude Code would print.
func (j job) report() map[string]any {
	u := j.usage()
	return map[string]any{
		"type": "result", "subtype": "success", "is_error": false,
		"result":         "The " + j.role + " of " + j.item + " is done.",
		"session_id":     fmt.Sprintf("%s-%d-%d", j.item, j.run, j.attempt),
		"total_cost_usd": u.cost(),
		"usage": map[string]any{
			"input_tokens": u.in, "output_tokens": u.out,
			"cache_read_input_tokens": u.read, "cache_creation_input_tokens": u.made,
		},
		"modelUsage": map[string]any{j.model: map[string]any{
			"inputTokens": u.in, "outputTokens": u.out,
			"cacheReadInputTokens": u.read, "cacheCreationInputTokens": u.made, "costUSD": u.cost(),
		}},
	}
}
