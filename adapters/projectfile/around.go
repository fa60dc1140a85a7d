package projectfile

import (
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/signalbox-dev/signalbox/internal/yamlplace"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What an entry puts around an agent's run: the team's assignments, recipes and hooks. Each form is read with an
// error that names the field and shows what it should be.

// prompts are the team's assignments by role.
type prompts map[stage.Role]string

// UnmarshalYAML reads a text for each role.
func (p *prompts) UnmarshalYAML(node ast.Node) error {
	return strictly(node, (*map[stage.Role]string)(p), "prompts: want a text for each role, such as developer: \"{{.Default}} Run make test before each commit.\"")
}

// recipes are how the deployer deploys.
type recipes struct {
	Staging    string `yaml:"staging"`
	Production string `yaml:"production"`
}

// UnmarshalYAML reads the texts.
func (r *recipes) UnmarshalYAML(node ast.Node) error {
	type form recipes
	return strictly(node, (*form)(r), "deploy: want texts, such as {staging: run make staging, production: run make production}")
}

// hooks are commands around an agent's runs.
type hooks struct {
	AfterCreate [][]string    `yaml:"after_create"`
	BeforeRun   [][]string    `yaml:"before_run"`
	AfterRun    [][]string    `yaml:"after_run"`
	Timeout     time.Duration `yaml:"timeout"`
}

// UnmarshalYAML reads the commands.
func (h *hooks) UnmarshalYAML(node ast.Node) error {
	type form hooks
	return strictly(node, (*form)(h), "hooks: want lists of commands, each a list of words, such as {after_create: [[npm, ci]], before_run: [[./bin/services, up]], after_run: [[./bin/services, down]], timeout: 90s}")
}

// programs are the files of the repository that the hooks run.
func (h hooks) programs() (files []string) {
	for _, commands := range [][][]string{h.AfterCreate, h.BeforeRun, h.AfterRun} {
		for _, argv := range commands {
			files = append(files, program(argv)...)
		}
	}
	return files
}

// strictly reads a form. The error has the place, and says what the form should be.
func strictly(node ast.Node, into any, want string) error {
	if err := yaml.NodeToValue(node, into, yaml.Strict()); err != nil {
		return &yaml.SyntaxError{Message: want + ": " + yamlplace.Short(err), Token: node.GetToken()}
	}
	return nil
}
