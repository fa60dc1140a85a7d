package agentcli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Preset is how a tool is called. In Argv, "{prompt}" stands for the prompt; a
// prompt that no command line can hold is replaced by one that names its file.
// "{gitdir}" stands for the checkout's git directory, "{outbox}" for the directory
// of the run's report, for tools that are limited in what they may write, and "{timeout}" for
// the run's limit in seconds. The word "{sandbox}" is replaced by those of Sandbox, or of Jailed.
// Behind these words come model, limit of cost, and the agent's own arguments.
type Preset struct {
	Argv   []string
	Stdin  bool            // the prompt is given on standard input; else that is /dev/null
	Format agentout.Format // of what it writes to standard output
	Vendor string          // of its models; empty: not known, or for OpenCode the provider of the model
	Env    []string        // names of our environment that it sees beside Options.EnvAllow: its vendor's keys
	Home   []string        // files of our HOME that it gets copies of: how it signs in

	ModelFlag  string // the model follows in the same word, as in --model=; empty: it is in SIGNALBOX_MODEL alone
	BudgetFlag string // dollars follow; empty: it cannot limit what a run costs
	ResumeFlag string // the id of a session follows; its files are below Sessions
	Model      string // for accounting, when neither the output nor the agent names one
	ModelFile  string // of our HOME, TOML: the same

	Sessions []string // directories of the agent's HOME, with <project>/<id>.jsonl in them

	Sandbox []string          // switches its own sandbox on, where Options.Jail is nil
	Jailed  []string          // switches it off, where Options.Jail confines it: a sandbox of namespaces cannot be made in there
	JailEnv map[string]string // does the same
	SetEnv  map[string]string // what its environment has in any case
}

// Tools lists the tools that are looked for, best first.
func Tools() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Installed is the first of them that is here and that somebody seems to be signed in at, else the first that is here; empty:
// none is.
func Installed() (name string, signedIn bool) {
	for _, one := range Tools() {
		if _, err := exec.LookPath(one); err != nil {
			continue
		}
		if isSignedIn(one) {
			return one, true
		}
		name = cmp.Or(name, one)
	}
	return name, false
}

// isSignedIn reports whether a tool has a key in the environment, or a file in which it keeps what signs it in.
func isSignedIn(name string) bool {
	p, _ := builtin(name)
	home, _ := os.UserHomeDir() // none: no file
	return slices.ContainsFunc(p.Env, func(key string) bool {
		return (strings.HasSuffix(key, "_KEY") || strings.HasSuffix(key, "_TOKEN")) && os.Getenv(key) != ""
	}) || slices.ContainsFunc(p.Home, func(file string) bool {
		base := filepath.Base(file)
		_, err := os.Stat(filepath.Join(home, file))
		return err == nil && (strings.Contains(base, "auth") || strings.Contains(base, "cred"))
	})
}

// builtin returns the preset of a tool. An agent must edit, run commands (builds, tests) and
// commit without a person to confirm it: each is called so that it may.
func builtin(name string) (Preset, bool) {
	switch name {
	case "claude": // the list of tools is one word: it would swallow what follows
		return Preset{
			Format: agentout.Claude, Vendor: "anthropic",
			ModelFlag: "--model=", BudgetFlag: "--max-budget-usd=", ResumeFlag: "--resume=",
			Sessions: []string{".claude/projects"},
			Argv: []string{
				"claude", "--print", "{prompt}", "--output-format", "stream-json", "--verbose", "--add-dir={outbox}",
				"--permission-mode", "acceptEdits", "--allowedTools=Bash,Edit,Write", "{sandbox}",
			},
			Jailed: []string{`--settings={"sandbox":{"enabled":false}}`},
			Env: []string{
				"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
				"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
				"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
				"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SUBAGENT_MODEL",
				"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
			},
			Home: []string{".claude/.credentials.json", ".claude/settings.json"},
		}, true
	case "codex": // its sandbox lets nothing else be written, not even the index
		return Preset{
			Stdin: true, Format: agentout.Codex, Vendor: "openai", ModelFlag: "--model=", ModelFile: ".codex/config.toml",
			Argv: []string{"codex", "exec", "--json", "{sandbox}", "--skip-git-repo-check", "--ephemeral", "-"},
			Sandbox: []string{
				"--sandbox", "workspace-write", "-c", `sandbox_workspace_write.writable_roots=["{gitdir}","{outbox}"]`,
			},
			Jailed: []string{"--sandbox", "danger-full-access"},
			Env:    []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_API_KEY"},
			Home:   []string{".codex/auth.json", ".codex/config.toml"},
		}, true
	case "gemini": // any lesser mode denies commands where nobody can confirm them
		return Preset{
			Format: agentout.Gemini, Vendor: "google", ModelFlag: "--model=",
			Argv: []string{
				"gemini", "--output-format", "stream-json", "--approval-mode=yolo", "--skip-trust",
				"--include-directories={outbox}", "--prompt", "{prompt}",
			},
			Env: []string{
				"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL",
				"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
			},
			JailEnv: map[string]string{"GEMINI_SANDBOX": "false"},
			// It refuses directories that are new to it, which checkouts always are.
			SetEnv: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			Home:   []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"},
		}, true
	case "opencode": // it signs in at the vendor that its settings name
		return Preset{
			Format: agentout.OpenCode, ModelFlag: "--model=",
			Argv: []string{"opencode", "run", "--format", "json", "--print-logs", "--log-level", "ERROR", "--auto", "{prompt}"},
			Env:  []string{"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
			Home: []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".local/share/opencode/auth.json"},
		}, true
	case "antigravity", "agy":
		// By what its users have published: neither its flags nor its stream are described by the vendor, and no
		// run of it was seen here.
		return Preset{
			Format: agentout.Antigravity, Vendor: "google", ModelFlag: "--model=",
			// It gives up by itself after five minutes, unless it is given more.
			Argv: []string{
				"agy", "--output-format=stream-json", "--dangerously-skip-permissions",
				"--print-timeout={timeout}s", "--add-dir={outbox}", "--print={prompt}",
			},
			Env:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"},
			SetEnv: map[string]string{"AGY_CLI_DISABLE_AUTO_UPDATE": "true"},
			Home:   []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/antigravity-cli/settings.json"},
		}, true
	default:
		return Preset{}, false
	}
}

// Identify implements work.Identifier: the name is the preset or the command line.
func (r *Runner) Identify(a work.Agent) (name, vendor string) {
	a.Use = cmp.Or(a.Use, r.opt.Default)
	return a.Use, VendorOf(a)
}

// VendorOf is the vendor of an agent's models, as far as its tool and its model say; empty =
// not known. A command that calls a known tool is that tool's.
func VendorOf(a work.Agent) string {
	words, err := Split(a.Use)
	if err != nil {
		return ""
	}
	switch filepath.Base(words[0]) {
	case "claude":
		return "anthropic"
	case "codex":
		return "openai"
	case "gemini", "antigravity", "agy":
		return "google"
	case "opencode": // its models are provider/model
		vendor, _, named := strings.Cut(a.Model, "/")
		if named {
			return vendor
		}
	}
	return ""
}

// versionTime bounds the call of a tool for its version.
const versionTime = 15 * time.Second

// Version returns the version that a tool which is known here reports; empty for other
// commands, and in a container, whose image has another one. The tool sees no key.
func (r *Runner) Version(ctx context.Context, agent string) (string, error) {
	p, _, err := r.preset(agent)
	if err != nil {
		return "", fmt.Errorf("agentcli: %w", err)
	}
	if _, known := builtin(filepath.Base(p.Argv[0])); !known || r.inContainer() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Argv[0], "--version")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	said = strings.ToValidUTF8(said[:min(len(said), 200)], "")
	if err != nil {
		return "", fmt.Errorf("agentcli: %s --version: %w: %s", p.Argv[0], err, r.opt.Hidden.Text(said))
	}
	return said, nil
}
