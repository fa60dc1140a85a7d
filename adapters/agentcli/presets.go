package agentcli

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Formats of an agent's output.
const (
	FormatClaude   = "claude"
	FormatCodex    = "codex"
	FormatGemini   = "gemini"
	FormatOpenCode = "opencode"
	FormatAny      = "any" // a Claude-shaped result if there is one, else text
)

// Preset is how a tool is called. In Argv, "{prompt}" stands for the prompt; a
// prompt that no command line can hold is replaced by one that names its file.
type Preset struct {
	Argv   []string
	Stdin  bool   // the prompt is given on standard input; else that is /dev/null
	Format string // of what it writes to standard output
	Model  string // for accounting, when the output does not tell
}

func builtin(name string) (Preset, bool) {
	switch name {
	case "claude":
		return Preset{Argv: []string{"claude", "--print", "--output-format", "json", "--permission-mode", "acceptEdits", "{prompt}"}, Format: FormatClaude}, true
	case "codex":
		return Preset{Argv: []string{"codex", "exec", "--json", "--sandbox", "workspace-write", "--skip-git-repo-check", "--ephemeral", "-"}, Stdin: true, Format: FormatCodex}, true
	case "gemini":
		return Preset{Argv: []string{"gemini", "--output-format", "json", "--approval-mode", "auto_edit", "--prompt", "{prompt}"}, Format: FormatGemini}, true
	case "opencode":
		return Preset{Argv: []string{"opencode", "run", "--format", "json", "--auto", "{prompt}"}, Format: FormatOpenCode}, true
	default:
		return Preset{}, false
	}
}

// preset finds a preset by name, or makes one of a command line. A command gets
// the prompt on standard input and in the file that SIGNALBOX_PROMPT_FILE names.
func (r *Runner) preset(agent string) (Preset, error) {
	p, ok := r.opt.Presets[agent]
	if !ok {
		p, ok = builtin(agent)
	}
	if !ok {
		argv, err := Split(agent)
		if err != nil {
			return p, fmt.Errorf("agentcli: agent %q: %w", agent, err)
		}
		p = Preset{Argv: argv, Stdin: true, Format: FormatAny}
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return p, fmt.Errorf("agentcli: agent %q has no command", agent)
	}
	return p, nil
}

// argMax is what one argument may have, well below the kernel's 128 KiB.
const argMax = 96 << 10

// argv is the command line with the prompt in it.
func (p Preset) argv(prompt, file string) []string {
	if len(prompt) > argMax || strings.ContainsRune(prompt, 0) {
		prompt = "Your task is in the file " + file + ". Read it and do it."
	}
	if strings.HasPrefix(prompt, "-") {
		prompt = "\n" + prompt // never an option
	}
	var out []string
	for _, a := range p.Argv {
		out = append(out, strings.ReplaceAll(a, "{prompt}", prompt))
	}
	return out
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
