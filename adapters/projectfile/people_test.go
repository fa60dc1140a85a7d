package projectfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
)

const spoken = `
projects:
  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP, chat: -1001234/7}
  - {tracker_project: q, repo: acme/web, clone_url: v, prefix: WEB}
`

// Accounts of a chat are people of all projects, and each of one alone.
func TestPeople(t *testing.T) {
	r, err := projectfile.Parse("projects.yaml", []byte(`people:
  - {name: ann@example.org, telegram: 12345, slack: U7, chat: U1}
  - {name: lee, telegram: "6789012345"}
`+spoken))
	require.NoError(t, err)
	for _, p := range r.Projects.All() {
		require.Equal(t, map[string]string{
			"telegram:12345": "ann@example.org", "chat:U1": "ann@example.org", "slack:U7": "ann@example.org", "telegram:6789012345": "lee",
		}, p.People.Accounts)
	}
	require.Equal(t, "-1001234/7", r.Projects.All()[0].Chat)
	require.Empty(t, r.Projects.All()[1].Chat)
	for list, want := range map[string]string{
		"{telegram: 12345}":                                  "projects.yaml:2: people: entry 1 has no name",
		"{name: ann, telegram: \"@ann\"}":                    "people: ann: telegram is \"@ann\", want the number of the account",
		"{name: ann, telegram: 1}, {name: lee, telegram: 1}": "people: lee has the account 1 of ann at telegram",
		"{name: ann, slack: \"@ann\"}":                       "people: ann: slack is \"@ann\", want the member's id",
		"{name: ann, icq: U1}":                               "icq",
	} {
		_, err := projectfile.Parse("projects.yaml", []byte("people:\n  ["+list+"]\n"+spoken))
		require.ErrorContains(t, err, want)
	}
}
