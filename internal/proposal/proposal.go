// Package proposal describes programs of others to init: an adapter proposes how the service signs in to its own.
package proposal

import (
	"context"

	"github.com/signalbox-dev/signalbox/githost"
)

// Answers are those of a person, and of what is set already. A flag and a name say where an answer is given beforehand.
type Answers interface {
	// Value is a setting that is set; empty when it is not.
	Value(setting string) string
	// Take notes a setting that a flag gives, and returns what it is then.
	Take(flag, setting, given, why string) string
	// Setting returns one that is set, or is given by its flag or a person.
	Setting(ctx context.Context, setting, flag, given, question string) (string, error)
	// Secret does the same with one of the environment, which has no flag: others see the arguments of a process.
	Secret(ctx context.Context, variable, question string) (string, error)
	// Ask returns what was given, else what a person types, else the other answer.
	Ask(ctx context.Context, flag, given, question, otherwise string) (string, error)
}

// Place is where init runs: answers may have it.
type Place interface {
	// Origin is the address that the repository here was cloned from; empty where there is none.
	Origin(ctx context.Context) string
	// Say tells a person.
	Say(format string, args ...any)
}

// Account is how the service signs in to a program, and what is written of it.
type Account struct {
	Flag, Title, URL string // that chooses it; for people; its address
	Name, Kind       string // of its entry in the registry; without a kind the settings describe it
	Board            bool   // it has cards, else repositories
	Token, Page      string // the variable of the token, and where a person makes one
	URLFlag          string // of its address
	Secret, Why      string // the variable of its webhooks' secret, and what that is
	CloneBase        string // the setting of how clone URLs begin, where they are not at Home; empty: there is none
	Home             string

	ProjectFlag, Project string                                                        // of a board's project
	Open                 func() (Host, error)                                          // of a host
	Find                 func(ctx context.Context) (project, prefix string, err error) // of a board with projects; empty: no answer
}

// Host is a git host as init examines it.
type Host interface {
	githost.Examiner
	Ping(ctx context.Context) error
	Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error)
}
