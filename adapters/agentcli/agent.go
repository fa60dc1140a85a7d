package agentcli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// preset finds what an agent's Use stands for: a preset by its name, one with options behind
// it, as in "claude --effort high", or a command line of any other program. A command gets
// the prompt on standard input and in the file that SIGNALBOX_PROMPT_FILE names; one that
// calls a known tool, by its path or with a subcommand, sees the keys of its vendor. The name
// is that of the preset, empty for a command.
func (r *Runner) preset(use string) (p Preset, name string, err error) {
	if p, ok := r.named(use); ok {
		return p, use, p.check(use)
	}
	argv, err := Split(use)
	if err != nil {
		return p, "", fmt.Errorf("agent %q: %w", use, err)
	}
	if p, ok := r.named(argv[0]); ok && (len(argv) == 1 || strings.HasPrefix(argv[1], "-")) {
		p.Argv = slices.Concat(p.Argv, argv[1:])
		return p, argv[0], p.check(use)
	}
	p = Preset{Argv: argv, Stdin: true, Format: agentout.Any}
	if tool, ok := builtin(filepath.Base(argv[0])); ok {
		p.Env, p.Home, p.JailEnv, p.SetEnv = tool.Env, tool.Home, tool.JailEnv, tool.SetEnv
	}
	return p, "", p.check(use)
}

// Program is the executable of an agent that is no preset of a Runner's own.
func Program(use string) (string, error) {
	p, _, err := (&Runner{}).preset(use)
	return append(p.Argv, "")[0], err
}

func (r *Runner) named(name string) (Preset, bool) {
	if p, ok := r.opt.Presets[name]; ok {
		return p, true
	}
	return builtin(name)
}

func (p Preset) check(use string) error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return fmt.Errorf("agent %q has no command", use)
	}
	return nil
}

// model is the one that the execution was called with, in full; empty: the tool's own choice.
func (e execution) model() string {
	if e.Agent.Model != "" {
		return e.Agent.Model
	}
	words := slices.Concat(e.preset.Argv, e.Agent.Args)
	for i, word := range slices.Backward(words) { // the last one counts
		flag, value, joined := strings.Cut(word, "=")
		if flag != "-m" && flag != "--model" {
			continue
		}
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		return value
	}
	if e.preset.Model != "" || e.preset.ModelFile == "" {
		return e.preset.Model
	}
	own, _ := os.UserHomeDir()                                     // else there is no file
	body, _ := os.ReadFile(filepath.Join(own, e.preset.ModelFile)) // the same
	top, _, _ := strings.Cut("\n"+string(body), "\n[")
	if m := modelLine.FindStringSubmatch(top); m != nil {
		return m[1]
	}
	return ""
}

// modelLine is that of a file of settings which names the model; what stands in a table is of
// something else.
var modelLine = regexp.MustCompile(`(?m)^model[ \t]*=[ \t]*["']([^"'\\\n]+)["']`)

// vendor returns the vendor of the models; empty when that is not known.
func (e execution) vendor() string {
	if e.preset.Vendor != "" || e.preset.Format != agentout.OpenCode {
		return e.preset.Vendor
	}
	provider, _, ok := strings.Cut(e.model(), "/")
	if !ok {
		return ""
	}
	if strings.HasPrefix(provider, "google-vertex") {
		return "google"
	}
	return provider
}

// argMax bounds one argument, well below the kernel's 128 KiB.
const argMax = 96 << 10

// argv is the command line with the prompt in it.
func (p Preset) argv(e execution) []string {
	prompt := e.Prompt
	if e.resume != "" {
		prompt = resumed + prompt
	}
	if len(prompt) > argMax || strings.ContainsRune(prompt, 0) {
		prompt = "Your task is in the file " + e.prompt + ". Read it and do it."
	}
	if strings.HasPrefix(prompt, "-") {
		prompt = "\n" + prompt // never an option
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	timeout := strconv.FormatInt(int64(e.Agent.Timeout.Seconds())+1, 10)
	fill := strings.NewReplacer(
		"{prompt}", prompt,
		"{gitdir}", quote(gitDir(e.Dir)),
		"{outbox}", quote(e.outbox),
		"{timeout}", timeout,
	)
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
	if p.ModelFlag != "" && e.Agent.Model != "" {
		out = append(out, p.ModelFlag+e.Agent.Model)
	}
	if p.BudgetFlag != "" && e.Agent.MicroUSD > 0 {
		out = append(out, p.BudgetFlag+usd(e.Agent.MicroUSD))
	}
	if p.ResumeFlag != "" && e.resume != "" {
		out = append(out, p.ResumeFlag+e.resume)
	}
	out = append(out, e.Agent.Args...)
	for _, o := range e.opened {
		out = append(out, o.Args...)
	}
	return out
}

// usd is an amount in dollars.
func usd(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', -1, 64) }

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

// System is a jail for Options.Jail, and for that of gitcli: what is installed on this machine can
// be read and run, and TCP ports connected to. The rest is what each execution is given.
func System(ports ...uint16) *work.Jail {
	j := jail.System()
	for _, port := range ports {
		j.Ports = append(j.Ports, work.Ports{First: port, Last: port})
	}
	return &j
}
