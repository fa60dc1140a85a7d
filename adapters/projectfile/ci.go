package projectfile

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ci is "none", or the names of the checks that must be there, with who has to report them, or commands where there is
// no git host.
type ci struct {
	None     bool
	All      bool
	Contexts []string
	Issuers  map[string]string
	Commands [][]string
}

// ciCheck is a check by its name, or with the one app or account that counts.
type ciCheck struct{ Name, App, Creator string }

// UnmarshalYAML reads both forms.
func (c *ciCheck) UnmarshalYAML(raw []byte) error {
	if yaml.Unmarshal(raw, &c.Name) == nil {
		return nil
	}
	type plain ciCheck
	if err := yaml.UnmarshalWithOptions(raw, (*plain)(c), yaml.Strict()); err != nil {
		return err
	}
	if c.Name == "" || (c.App == "") == (c.Creator == "") {
		return errors.New("ci: a check has a name, and the app or the creator (an account) that has to report it")
	}
	return nil
}

// UnmarshalYAML reads all forms.
func (c *ci) UnmarshalYAML(raw []byte) error {
	var word string
	if yaml.Unmarshal(raw, &word) == nil {
		if word != "none" && word != "any" && word != "all" {
			return fmt.Errorf(`ci is %q, want none, any, all, or a list of the checks that must pass`, word)
		}
		c.None, c.All = word == "none", word == "all"
		return nil
	}
	var list []ciCheck
	if yaml.Unmarshal(raw, &list) == nil {
		c.Issuers = map[string]string{}
		for _, k := range list {
			c.Contexts = append(c.Contexts, k.Name)
			if k.App+k.Creator != "" {
				c.Issuers[k.Name] = cmp.Or(prefixed(stage.IssuerApp, k.App), prefixed(stage.IssuerUser, k.Creator))
			}
		}
		return nil
	}
	if err := yaml.Unmarshal(raw, &c.Commands); err != nil {
		return errors.New("ci: want none, any, all, a list of the checks that must pass such as [build, test] or " +
			"[{name: build, app: github-actions}, {name: test, creator: jenkins-bot}], " +
			"or, with host: git, a list of commands such as [[go, test, ./...], [go, vet, ./...]]")
	}
	return nil
}

func prefixed(kind, name string) string {
	if name == "" {
		return ""
	}
	return kind + name
}
