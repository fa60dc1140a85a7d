//go:build linux

package agentcli_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// realAgents names the directory into which "make test-agents" has installed the tools, and
// switches on the tests with them.
const realAgents = "SIGNALBOX_REAL_AGENTS"

// realTool is a tool that has a preset of its name, and how it is led to the imitation.
type realTool struct {
	name  string
	model string            // of its choice, as it says; empty: it does not
	told  string            // a model that it is given
	env   map[string]string // ADDRESS stands for the imitation's
	files map[string]string // in HOME
	key   string            // variable of its key
}

func realTools() []realTool {
	return []realTool{
		{name: "claude", model: "claude-opus-4-8", told: "claude-sonnet-4-5", key: "ANTHROPIC_API_KEY", env: map[string]string{"ANTHROPIC_BASE_URL": "ADDRESS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}},
		{name: "codex", told: "gpt-5.5", key: "CODEX_API_KEY", files: map[string]string{".codex/config.toml": `openai_base_url = "ADDRESS/v1"`}},
		{name: "gemini", model: "gemini-3.8-flash", told: "gemini-2.5-pro", key: "GEMINI_API_KEY", env: map[string]string{"GOOGLE_GEMINI_BASE_URL": "ADDRESS"}, files: map[string]string{
			".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`, // by itself it refuses a key together with an address
		}},
		{name: "opencode", told: "imitated/other-model", key: "OPENAI_API_KEY", files: map[string]string{
			".config/opencode/opencode.json": `{"model": "imitated/some-model", "provider": {"imitated": {
				"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "ADDRESS/v1", "apiKey": "{env:OPENAI_API_KEY}"},
				"models": {"some-model": {}, "other-model": {"cost": {"input": 1, "output": 2, "cache_read": 0.5}}}}}}`,
		}},
	}
}

// reality is one imitation for all tools, in an environment and a HOME of the test's own.
type reality struct {
	dir   string // of the installed tools
	model *modeltest.Server
	port  uint16
	links []agentcli.Link
}

// newReality skips the test if no tools are installed. It changes the environment, so that
// only the parts of a test can be parallel.
func newReality(t *testing.T, signedIn bool) reality {
	t.Helper()
	dir := os.Getenv(realAgents)
	if dir == "" {
		t.Skipf("%s is not set: make test-agents installs the tools and runs them", realAgents)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules"))
	require.NoError(t, err)
	r := reality{dir: dir, model: modeltest.New(works)}
	t.Cleanup(r.model.Close)
	u, err := url.Parse(r.model.URL)
	require.NoError(t, err)
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	require.NoError(t, err)
	r.port = uint16(port)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(dir, ".bin")+":"+os.Getenv("PATH"))
	for _, tool := range realTools() {
		t.Setenv(tool.key, "")
		if signedIn {
			t.Setenv(tool.key, "sk-imitated")
		}
		for name, value := range tool.env {
			t.Setenv(name, strings.ReplaceAll(value, "ADDRESS", r.model.URL))
		}
		for name, body := range tool.files {
			name = filepath.Join(home, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(body, "ADDRESS", r.model.URL)), 0o600))
		}
	}
	return r
}

// run runs a tool by its preset in a checkout, with a prompt that the imitation understands.
func (r reality) run(t *testing.T, box *work.Box, agent work.Agent, prompt string) (*agentcli.Runner, work.Command, work.Result) {
	t.Helper()
	runner := newRunner(t, func(o *agentcli.Options) { o.LogMax, o.Links = 1<<20, r.links })
	if box != nil {
		runner, _ = jailed(t, *box, func(o *agentcli.Options) {
			o.LogMax = 1 << 20
			o.Jail.Read = append(o.Jail.Read, r.dir)
			if o.Links = r.links; r.links == nil { // else they have the only port
				o.Jail.Ports = []work.Ports{{First: r.port, Last: r.port}}
			}
		})
	}
	c := command(t, "")
	c.Agent, c.Report = agent, "review.md"
	c.Prompt = prompt + " The checkout is " + c.Dir + " and the report's file " + work.ReportPath + " of your own."
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "n"}, {"config", "user.email", "n@example.org"}, {"commit", "-qm", "base", "--allow-empty"}} {
		require.NoError(t, exec.CommandContext(t.Context(), "git", append([]string{"-C", c.Dir}, args...)...).Run())
	}
	return runner, c, runner.Run(t.Context(), c)
}

// spent returns the cost of a turn of the imitation. Only Anthropic's API counts what is
// written to the cache.
func spent(d modeltest.Dialect) modeltest.Usage {
	u := modeltest.Usage{Input: 100, CacheRead: 3000, Output: 20}
	if d == modeltest.Anthropic {
		u.CacheCreate = 40
	}
	return u
}

// works is a model that makes a file, commits it and reports, each by a tool of the agent's;
// or meets a fault, when its prompt names one: at once, or late, when it has committed.
func works(q modeltest.Request) modeltest.Turn {
	fault := regexp.MustCompile(`Meet: ([a-z ]+?)( late)?\.`).FindStringSubmatch(q.Text)
	if fault != nil && (fault[2] == "" || q.Results >= 2) {
		return modeltest.Turn{Text: "It breaks off somewhere in the middle.", Fault: modeltest.Fault(fault[1])}
	}
	paths := regexp.MustCompile(`The checkout is (\S+) and the report's file (\S+) of your own`).FindStringSubmatch(q.Text)
	if len(q.Tools) == 0 || paths == nil {
		return modeltest.Turn{Text: "An aside."}
	}
	if strings.Contains(q.Text, "Go round in circles.") { // gemini would end what is more regular by itself, as a success
		turn := modeltest.Turn{Text: fmt.Sprintf("Look %d.", q.Results), Command: "cat missing.txt", Usage: spent(q.Dialect)}
		if q.Results%3 == 2 {
			turn.Command = fmt.Sprintf("cat missing%d.txt", q.Results)
		}
		return turn
	}
	turn := []modeltest.Turn{
		{Text: "I make it.", File: modeltest.File{Path: filepath.Join(paths[1], "made.txt"), Body: "made\n"}},
		{Text: "I commit it.", Command: `git add made.txt && git commit -qm "app: add made"`},
		{Text: "I report.", File: modeltest.File{Path: paths[2], Body: "verdict: approved\n"}},
		{Text: "All is written."},
	}[min(q.Results, 3)]
	turn.Usage = spent(q.Dialect)
	return turn
}

// A tool whose model calls the same command again and again is ended, long before its time is over.
func TestRealAgentsRepeatThemselves(t *testing.T) {
	r := newReality(t, true)
	for _, tool := range realTools() {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			_, _, res := r.run(t, nil, work.Agent{Use: tool.name, Timeout: 2 * time.Minute}, "Go round in circles.")
			keepOutput(t, tool.name+"_loop.jsonl", res)
			require.Equal(t, work.ResultStuck, res.Kind, res.Reason)
			require.Contains(t, res.Reason, "cat missing.txt")
		})
	}
}

var recordInto = flag.String("record", "", "directory for what the real tools print")

func keepOutput(t *testing.T, name string, res work.Result) {
	t.Helper()
	if *recordInto != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*recordInto, name), contents(t, res.LogPath), 0o600))
	}
}

// table collects what the tools did, and prints it where "go test" without -v does not hide it.
type table struct {
	mu   sync.Mutex
	rows [][]string
}

func (b *table) add(cells ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, cells)
}

func (b *table) print(head ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortFunc(b.rows, slices.Compare)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	rule := strings.Split(strings.Repeat("--- ", len(head)), " ")[:len(head)]
	for _, row := range append([][]string{head, rule}, b.rows...) {
		fmt.Fprintf(w, "agents: | %s |\n", strings.Join(row, "\t| "))
	}
	_ = w.Flush() // to the output of a test
}

// version reads the version of a tool from what it prints of itself.
func (r reality) version(t *testing.T, tool string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(r.dir, ".bin", tool), "--version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(string(out))
}

// Each tool, called by its preset, makes a file, commits it and reports, in each jail that
// there is, and in the sandbox of its own where there is none. What it says of tokens and
// model is read: of one that it was given in the jails, else of its own choice.
func TestRealAgents(t *testing.T) {
	r := newReality(t, true)
	done := &table{}
	t.Run("tools", func(t *testing.T) {
		for _, kind := range []string{"none", jailtest.Landlock, work.BoxBubblewrap} { // in a container the tools are its image's
			t.Run(kind, func(t *testing.T) {
				var box *work.Box
				if kind != "none" {
					made := jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"})
					box = &made
				}
				for _, tool := range realTools() {
					t.Run(tool.name, func(t *testing.T) {
						t.Parallel()
						outcome := "failed"
						defer func() { done.add(tool.name, r.version(t, tool.name), kind, outcome) }()
						r.whole(t, box, tool)
						outcome = "edited, committed, reported"
					})
				}
			})
		}
	})
	done.add("antigravity", "-", "-", "not possible here: npm does not have agy")
	done.print("tool", "version", "jail", "what it did")
}

func (r reality) whole(t *testing.T, box *work.Box, tool realTool) {
	t.Helper()
	agent, model := work.Agent{Use: tool.name, Timeout: 4 * time.Minute}, tool.model
	if box != nil {
		agent.Model, model = tool.told, tool.told[strings.LastIndex(tool.told, "/")+1:]
	}
	runner, c, res := r.run(t, box, agent, "Build it.")
	succeeded(t, res)
	require.Equal(t, "All is written.", res.Summary)
	keepOutput(t, tool.name+"_works.jsonl", res)
	require.NotEmpty(t, res.SessionID)
	text, err := runner.Report(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "verdict: approved\n", text)
	wasFollowed(t, runner, c)
	out, err := exec.CommandContext(t.Context(), "git", "-C", c.Dir, "log", "--format=%s", "--name-only", "-1").Output()
	require.NoError(t, err)
	require.Equal(t, "app: add made\n\nmade.txt\n", string(out))
	want := work.Usage{Input: 400, CacheRead: 12000, Output: 80, Model: model}
	if tool.name == "claude" {
		want.CacheCreate = 160
	}
	got := res.Usage
	got.MicroUSD = 0
	require.Equal(t, want, got, "four turns")
	if box != nil && slices.Contains([]string{"claude", "opencode"}, tool.name) { // which have a price of it
		require.Positive(t, res.Usage.MicroUSD)
	}
	if box != nil {
		require.True(t, slices.ContainsFunc(r.model.Requests(), func(q modeltest.Request) bool { return q.Model == model && len(q.Tools) > 0 }), "%s was asked for", model)
	}
}

// wasFollowed looks at the steps that are kept of a whole run: its words, the file that it made,
// and its command.
func wasFollowed(t *testing.T, r *agentcli.Runner, c work.Command) {
	t.Helper()
	f, err := r.OpenLog(t.Context(), work.LogName{TaskID: c.TaskID, Role: c.Role, Run: c.Run, Attempt: c.Attempt, Stream: work.StreamSteps})
	require.NoError(t, err)
	defer f.Close()
	var said, paths, calls string
	for lines := json.NewDecoder(f); lines.More(); {
		var s work.Step
		require.NoError(t, lines.Decode(&s))
		switch s.Kind {
		case work.StepText:
			said += s.Text + "\n"
		case work.StepFile:
			paths += s.Path + "\n"
		case work.StepTool:
			calls += s.Text + "\n"
		case work.StepNote:
			require.Failf(t, "a note", "%s", s.Text)
		case work.StepUsage:
		}
	}
	require.Equal(t, "I make it.\nI commit it.\nI report.\nAll is written.\n", said)
	require.Contains(t, paths, "made.txt")
	require.Contains(t, calls, "git add made.txt")
}

// trial is a trouble that a tool is led into.
type trial struct {
	name    string
	fault   modeltest.Fault // empty: there is no key
	late    bool            // it has committed by then
	trouble work.TroubleKind
	reason  map[string]string // form of what the result says, by tool; "" for all others
	unnamed []string          // tools of which it is not known what they mean: they go on trying, or say nothing
}

func trials() []trial {
	limit := map[string]string{"": "(?i)limit|quota|429"}
	return []trial{
		{"not signed in", "", false, work.TroubleLogin, map[string]string{"claude": "Not logged in", "codex": "401 Unauthorized", "gemini": "GEMINI_API_KEY", "opencode": "(?i)api key|authentication"}, nil},
		{"wrong key", modeltest.Unauthorized, false, work.TroubleLogin, map[string]string{"": "(?i)api key|authentication"}, nil},
		{"empty account", modeltest.NoCredit, false, work.TroubleCredit, map[string]string{"": "(?i)credit|quota"}, []string{"gemini"}},
		{"too many requests", modeltest.RateLimited, false, work.TroubleLimit, limit, nil},
		{"limit of use", modeltest.UsageLimit, false, work.TroubleLimit, limit, nil},
		{"limit of use after a commit", modeltest.UsageLimit, true, work.TroubleLimit, limit, []string{"opencode"}},
		{"unknown model", modeltest.UnknownModel, false, work.TroubleModel, map[string]string{"": "(?i)model"}, nil},
		{"no answer", modeltest.Hang, false, "", map[string]string{"": "stopped after"}, nil},
	}
}

// What is wrong with a tool's account or model is in the result, in the tool's own words, and
// what it has committed by then is there. One that hangs is stopped.
func TestRealAgentsInTrouble(t *testing.T) {
	said := &table{}
	t.Run("signed in", func(t *testing.T) {
		r := newReality(t, true)
		for _, tr := range trials() {
			if tr.fault != "" {
				r.try(t, tr, said)
			}
		}
	})
	t.Run("not signed in", func(t *testing.T) { newReality(t, false).try(t, trials()[0], said) })
	said.print("tool", "trouble", "result", "kind", "until", "after", "what it says")
}

func (r reality) try(t *testing.T, tr trial, said *table) {
	t.Helper()
	for _, tool := range realTools() {
		form, ok := tr.reason[tool.name]
		if !ok {
			form = tr.reason[""]
		}
		t.Run(tr.name+"/"+tool.name, func(t *testing.T) {
			t.Parallel()
			prompt := "Build it."
			if tr.fault != "" {
				prompt += " Meet: " + string(tr.fault)
				if tr.late {
					prompt += " late"
				}
				prompt += "."
			}
			_, c, res := r.run(t, nil, work.Agent{Use: tool.name, Timeout: 2 * time.Minute}, prompt)
			until := "-"
			if !res.Trouble.Until.IsZero() {
				until = res.Trouble.Until.UTC().Format("15:04")
			}
			said.add(tool.name, tr.name, res.Kind, string(res.Trouble.Kind), until, res.FinishedAt.Sub(res.StartedAt).Round(time.Second).String(), line(res.Reason))
			require.NotEqual(t, work.ResultOK, res.Kind)
			if slices.Contains(tr.unnamed, tool.name) {
				require.Contains(t, []work.TroubleKind{tr.trouble, work.TroubleLimit, ""}, res.Trouble.Kind, "of a limit an empty account may have the status")
			} else {
				require.Regexp(t, form, res.Reason)
				require.Equal(t, tr.trouble, res.Trouble.Kind)
			}
			if tr.late {
				require.FileExists(t, filepath.Join(c.Dir, "made.txt"))
			}
		})
	}
}

// line is the beginning of a text, on one line of a table.
func line(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	return text[:min(len(text), 150)]
}
