package projectfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/signalbox-dev/signalbox/internal/yamlplace"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// What an entry puts around an agent's run: the team's assignments, recipes and hooks. Each form is read with an
// error that names the field and shows what it should be.

// prompts are the team's assignments by role.
type prompts map[stage.Role]string

// UnmarshalYAML reads a text for each role.
func (p *prompts) UnmarshalYAML(node ast.Node) error {
	return strictly(node, (*map[stage.Role]string)(p),
		"prompts: want a text for each role, such as developer: \"{{.Default}} Run make test before each commit.\"")
}

// recipes are how the deployer deploys.
type recipes struct {
	Staging    string      `yaml:"staging"`
	Production string      `yaml:"production"`
	Credential *credential `yaml:"credential"`
	none       bool        // nothing is deployed
}

// credential mints a secret for each run of the deployer.
type credential struct {
	Env     string   `yaml:"env"`
	Command []string `yaml:"command"`
	Revoke  []string `yaml:"revoke"`
	App     *app     `yaml:"github_app"`
}

// app is one of GitHub that is used for nothing else.
type app struct {
	ID          string            `yaml:"id"`
	KeyFile     string            `yaml:"key_file"`
	Permissions map[string]string `yaml:"permissions"`
}

// convert checks the fields.
func (c *credential) convert(plain bool) (out task.Credential, err error) {
	if c == nil {
		return out, nil
	}
	out = task.Credential{Env: c.Env, Command: c.Command, Revoke: c.Revoke}
	ofOperator := func(argv []string) bool { return len(argv) > 0 && filepath.IsAbs(argv[0]) }
	switch {
	case !variable.MatchString(c.Env) || strings.HasPrefix(c.Env, "ORCH_") || strings.HasPrefix(c.Env, "SIGNALBOX_"):
		return out, fmt.Errorf("env: is %q, want the name of the variable in which the deployer finds its secret, "+
			"such as DEPLOY_TOKEN", c.Env)
	case (c.App == nil) == (c.Command == nil):
		return out, errors.New("want command, a program that prints a secret, or github_app, and not both")
	case c.App == nil && !ofOperator(c.Command):
		return out, errors.New("command: want the absolute path of a program of yours and its arguments, " +
			"such as [/etc/signalbox/mint-token]: it runs as the service, and never from a repository")
	case c.App == nil && !ofOperator(c.Revoke):
		return out, errors.New("revoke: want the absolute path of a program and its arguments " +
			"that ends the credential SIGNALBOX_CREDENTIAL_ID, such as [/etc/signalbox/revoke-token]")
	case c.App == nil:
		return out, nil
	case plain:
		return out, errors.New("github_app: the repository is not on GitHub (host: git); mint its secrets by a command")
	case c.Revoke != nil:
		return out, errors.New("revoke: an app's tokens are revoked by GitHub; leave it out")
	case c.App.ID == "" || !filepath.IsAbs(c.App.KeyFile) || len(c.App.Permissions) == 0:
		return out, errors.New("github_app: want {id: the App ID, key_file: the absolute path of its private key, " +
			"permissions: {deployments: write}}")
	}
	for name, level := range c.App.Permissions {
		if level != "read" && level != "write" {
			return out, fmt.Errorf("github_app: the permission %s is %q, want read or write", name, level)
		}
	}
	out.AppID, out.AppKey, out.Permissions = c.App.ID, c.App.KeyFile, c.App.Permissions
	return out, nil
}

// UnmarshalYAML reads the texts.
func (r *recipes) UnmarshalYAML(node ast.Node) error {
	if word, is := node.(*ast.StringNode); is && word.Value == "none" {
		r.none = true
		return nil
	}
	type form recipes
	return strictly(node, (*form)(r), "deploy: want none, or texts, such as {staging: run make staging, "+
		"production: run make production}, and credential where the deployer gets one")
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
	return strictly(node, (*form)(h), "hooks: want lists of commands, each a list of words, "+
		"such as {after_create: [[npm, ci]], before_run: [[./bin/services, up]], "+
		"after_run: [[./bin/services, down]], timeout: 90s}")
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
