package stage

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Paths is a set of paths of a repository: those that a pattern of Allow matches, and
// none of Deny. No Allow stands for all; the zero value has every path. Patterns are
// slash-separated: * stands for any characters of one name, ** for any number of
// directories, and what matches a directory stands for all that is in it.
type Paths struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Has reports whether a path is in the set. Case counts.
func (p Paths) Has(name string) bool {
	return (len(p.Allow) == 0 || MatchPath(p.Allow, name)) && !MatchPath(p.Deny, name)
}

// IsAll reports whether every path is in the set.
func (p Paths) IsAll() bool { return len(p.Allow)+len(p.Deny) == 0 }

// String names the set in words that follow "may change".
func (p Paths) String() string {
	words := "everything"
	if len(p.Allow) > 0 {
		words = "only " + strings.Join(p.Allow, ", ")
	}
	if len(p.Deny) > 0 {
		words += " but " + strings.Join(p.Deny, ", ")
	}
	return words
}

// ListPaths names paths, quoted where they hold what would not be read as a name, and how
// many there are besides.
func ListPaths(paths []string, more int) string {
	var b strings.Builder
	for i, name := range paths {
		if i > 0 {
			b.WriteString(", ")
		}
		if quoted := strconv.Quote(name); quoted != `"`+name+`"` || strings.ContainsAny(name, " ,") {
			name = quoted
		}
		b.WriteString(name)
	}
	if more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// MatchPath reports whether one of the patterns matches a path, or a directory that it
// lies in.
func MatchPath(patterns []string, name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(strings.Split(p, "/"), parts) })
}

func matches(pattern, name []string) bool {
	for ; len(pattern) > 0; pattern, name = pattern[1:], name[1:] {
		if pattern[0] == "**" {
			for n := range len(name) + 1 {
				if matches(pattern[1:], name[n:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); !ok || err != nil {
			return false
		}
	}
	return true
}

// CheckPatterns returns an error that reports what is wrong with patterns of a Paths.
func CheckPatterns(patterns []string) error {
	for _, p := range patterns {
		_, err := path.Match(p, "")
		clean := p != "" && p != "." && path.Clean(p) == p && !strings.ContainsAny(p, "\\\x00\n")
		outside := path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../")
		if err != nil || !clean || outside {
			return fmt.Errorf("%q is no pattern of paths inside the repository, want one such as tests/**, docs/*.md "+
				"or **/CODEOWNERS, without .., a backslash or a slash at its ends", p)
		}
		if slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return part != "**" && strings.Contains(part, "**") }) {
			return fmt.Errorf("%q: ** stands for directories and is a whole name, such as tests/**/*.go", p)
		}
	}
	return nil
}

// writeSets lists what the roles may change. {docs} stands for the task's directory. The
// developer may change all that no other role vouches for; a report is put into the
// branch by the service.
func writeSets() map[Role]Paths {
	return map[Role]Paths{
		Analyst:   {Allow: []string{"{docs}"}},
		Architect: {Allow: []string{"{docs}"}},
		Developer: {Deny: []string{"{docs}/review.md", "{docs}/test-report.md", "{docs}/staging-report.md", "{docs}/deploy-report.md"}},
		Reviewer:  judgesWrite(),
		Tester:    judgesWrite(),
		Deployer:  judgesWrite(),
	}
}

func judgesWrite() Paths { return Paths{Allow: []string{"{docs}/questions.md"}} }

// Writes returns what the commits of a job of the stage may change; docs is the task's directory, more what
// the registry adds.
func (i Info) Writes(l Launch, docs string, more []string) Paths {
	set, known := writeSets()[l.Role]
	if !known {
		set = judgesWrite()
		if i.Stage != "" && i.Report == "" { // it writes documents
			set.Allow = []string{"{docs}"}
		}
	}
	if l.Role == Deployer && l.Phase == PhaseAwait {
		set.Allow = append(set.Allow, "{docs}/deploy-plan.md")
	}
	in := func(patterns []string) (out []string) {
		for _, p := range patterns {
			out = append(out, strings.ReplaceAll(p, "{docs}", docs))
		}
		return out
	}
	return Paths{Allow: append(in(set.Allow), more...), Deny: in(set.Deny)}
}

// FromMain are patterns of the files that an agent of the job finds as main has them, for the roles that judge what
// others have written.
func (l Launch) FromMain() []string {
	switch l.Role {
	case Analyst, Architect, Developer:
		return nil
	default:
		return AgentSettings()
	}
}

// AgentSettings are patterns of the files that instruct agents, and of what a tool runs by itself in a checkout. On
// their way to main a person sees them.
func AgentSettings() []string {
	return []string{
		"**/CLAUDE.md", "**/CLAUDE.local.md", "**/.claude", "**/.mcp.json", "**/AGENTS.md", "**/AGENTS.override.md", "**/AGENT.md",
		"**/.agents", "**/.agent", "**/GEMINI.md", "**/.gemini", "**/.codex", "**/.cursor", "**/.cursorrules", "**/opencode.json",
		"**/opencode.jsonc", "**/.opencode", "**/.github/copilot-instructions.md", "**/.github/instructions", "**/.github/prompts",
		"**/.github/agents", "**/.github/chatmodes", "**/.windsurf", "**/.windsurfrules", "**/.clinerules", "**/.roo", "**/.kiro",
		"**/.junie", "**/.amazonq", "**/.aider.conf.yml", "**/.goosehints", "**/.husky", "**/.githooks",
		"**/.pre-commit-config.yaml", "**/lefthook.yml", "**/.envrc", "**/.vscode", "**/.devcontainer", "**/.devcontainer.json",
	}
}

// CheckWrites returns an error that reports what is wrong with what a registry adds to the
// writes of a role.
func CheckWrites(role Role, more []string) error {
	switch {
	case !nameForm.MatchString(string(role)):
		return fmt.Errorf("%q is no name of a role", role)
	case role == Developer:
		return errors.New("the developer may change everything but the reports of others already")
	default:
		return CheckPatterns(more)
	}
}
