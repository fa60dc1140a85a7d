package agentcli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
)

// Preset is how a tool is called. In Argv, "{prompt}" stands for the prompt; a
// prompt that no command line can hold is replaced by one that names its file.
// "{gitdir}" stands for the checkout's git directory and "{outbox}" for the directory
// of the run's report, for tools that are limited in what they may write. The word
// "{sandbox}" is replaced by those of Sandbox, or of Jailed.
type Preset struct {
	Argv   []string
	Stdin  bool            // the prompt is given on standard input; else that is /dev/null
	Format agentout.Format // of what it writes to standard output
	Model  string          // for accounting, when the output has none
	Env    []string        // names of our environment that it sees beside Options.EnvAllow: its vendor's keys
	Home   []string        // files of our HOME that it gets copies of: how it signs in

	Sandbox []string          // switches its own sandbox on, where Options.Jail is nil
	Jailed  []string          // switches it off, where Options.Jail confines it: a sandbox of namespaces cannot be made in there
	JailEnv map[string]string // does the same
	SetEnv  map[string]string // what its environment has in any case
}

// builtin returns the preset of a tool. An agent must edit, run commands (builds, tests) and
// commit without a person to confirm it: each is called so that it may.
func builtin(name string) (Preset, bool) {
	switch name {
	case "claude": // the list of tools is one word: it would swallow what follows
		return Preset{Format: agentout.Claude, Argv: []string{
			"claude", "--print", "{prompt}", "--output-format", "json", "--add-dir={outbox}", "--permission-mode", "acceptEdits", "--allowedTools=Bash,Edit,Write", "{sandbox}",
		}, Jailed: []string{`--settings={"sandbox":{"enabled":false}}`}, Env: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
			"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
		}, Home: []string{".claude/.credentials.json", ".claude/settings.json"}}, true
	case "codex": // its sandbox lets nothing else be written, not even the index
		return Preset{Stdin: true, Format: agentout.Codex, Argv: []string{
			"codex", "exec", "--json", "{sandbox}", "--skip-git-repo-check", "--ephemeral", "-",
		}, Sandbox: []string{"--sandbox", "workspace-write", "-c", `sandbox_workspace_write.writable_roots=["{gitdir}","{outbox}"]`}, Jailed: []string{
			"--sandbox", "danger-full-access",
		}, Env: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_API_KEY"}, Home: []string{".codex/auth.json", ".codex/config.toml"}}, true
	case "gemini": // any lesser mode denies commands where nobody can confirm them
		return Preset{
			Format: agentout.Gemini, Argv: []string{"gemini", "--output-format", "json", "--approval-mode=yolo", "--include-directories={outbox}", "--prompt", "{prompt}"},
			Env: []string{
				"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
			},
			JailEnv: map[string]string{"GEMINI_SANDBOX": "false"},
			SetEnv:  map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, // it refuses directories that are new to it, which checkouts always are
			Home:    []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"},
		}, true
	case "opencode": // it signs in at the vendor that its settings name
		return Preset{
			Format: agentout.OpenCode, Argv: []string{"opencode", "run", "--format", "json", "--auto", "{prompt}"},
			Env:  []string{"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
			Home: []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".local/share/opencode/auth.json"},
		}, true
	default:
		return Preset{}, false
	}
}

// preset finds a preset by name, or makes one of a command line. A command gets
// the prompt on standard input and in the file that SIGNALBOX_PROMPT_FILE names; one that
// calls a known tool sees the keys of its vendor.
func (r *Runner) preset(agent string) (Preset, error) {
	p, ok := r.opt.Presets[agent]
	if !ok {
		p, ok = builtin(agent)
	}
	if !ok {
		argv, err := Split(agent)
		if err != nil {
			return p, fmt.Errorf("agent %q: %w", agent, err)
		}
		p = Preset{Argv: argv, Stdin: true, Format: agentout.Any}
		if tool, ok := builtin(filepath.Base(argv[0])); ok {
			p.Env, p.Home, p.JailEnv, p.SetEnv = tool.Env, tool.Home, tool.JailEnv, tool.SetEnv
		}
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return p, fmt.Errorf("agent %q has no command", agent)
	}
	return p, nil
}

// argMax is what one argument may have, well below the kernel's 128 KiB.
const argMax = 96 << 10

// argv is the command line with the prompt in it.
func (p Preset) argv(e execution) []string {
	prompt := e.Prompt
	if len(prompt) > argMax || strings.ContainsRune(prompt, 0) {
		prompt = "Your task is in the file " + e.prompt + ". Read it and do it."
	}
	if strings.HasPrefix(prompt, "-") {
		prompt = "\n" + prompt // never an option
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	fill := strings.NewReplacer("{prompt}", prompt, "{gitdir}", quote(gitDir(e.Dir)), "{outbox}", quote(e.outbox))
	own := p.Sandbox
	if e.jailed {
		own = p.Jailed
	}
	var out []string
	for _, a := range p.Argv {
		words := []string{a}
		if a == "{sandbox}" {
			words = own
		}
		for _, w := range words {
			out = append(out, fill.Replace(w))
		}
	}
	return out
}

// gitDir finds the git directory of a checkout; it may be elsewhere, with a file
// that says where.
func gitDir(dir string) string {
	name := filepath.Join(dir, ".git")
	body, err := os.ReadFile(name)
	target, isLink := strings.CutPrefix(strings.TrimSpace(string(body)), "gitdir: ")
	if err != nil || !isLink {
		return name
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return target
}

func (p Preset) stdin(promptFile string) string {
	if p.Stdin {
		return promptFile
	}
	return os.DevNull
}

// Split splits a command line into words at blanks. Single and double quotes
// keep blanks; there is no other syntax, and no shell.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			in, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
