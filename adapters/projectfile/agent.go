package projectfile

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// agent is what a role runs: a preset's name or a command line, as a word or as {use: word}.
type agent string

// UnmarshalYAML reads both forms.
func (a *agent) UnmarshalYAML(raw []byte) error {
	if yaml.Unmarshal(raw, (*string)(a)) == nil {
		return nil
	}
	var form struct {
		Use string `yaml:"use"`
	}
	if yaml.UnmarshalWithOptions(raw, &form, yaml.Strict()) != nil {
		return errors.New("agents: want the name of an agent or a command, as developer: claude, or as developer: {use: claude}")
	}
	*a = agent(form.Use)
	return nil
}
