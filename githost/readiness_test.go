package githost_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
)

// Each row of the table, by a pull request that stands in it, and the table in docs.
func TestReadinesses(t *testing.T) {
	t.Parallel()
	pull := func(change func(*githost.PullRequest)) githost.PullRequest {
		p := githost.PullRequest{Number: 5, URL: "u", Open: true, BaseRef: "main"}
		change(&p)
		return p
	}
	at := func(s githost.Standing) githost.PullRequest {
		return pull(func(p *githost.PullRequest) { p.Standing = s })
	}
	approved := func(has, needs int, owners bool) githost.PullRequest {
		p := at(githost.StandingBlocked)
		p.Approved, p.Required, p.Owners = has, needs, owners
		return p
	}
	on, person := githost.GoOn, githost.ForPerson
	table := "| a pull request that is | before an agent | before the merge | a merge was refused | a person |\n|---|---|---|---|---|\n"
	for _, r := range githost.Readinesses {
		table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.State, r.Next[0], r.Next[1], r.Next[2], r.Do)
	}
	seen := map[string]bool{}
	for _, c := range []struct {
		pull                githost.PullRequest
		state               string
		run, merge, refused githost.Next
		is                  error
		why                 string
	}{
		{pull(func(p *githost.PullRequest) { p.Open, p.Merged = false, true }), "merged", on, on, on, nil, ""},
		{pull(func(p *githost.PullRequest) { p.Open, p.Draft = false, true }), "closed", person, person, person, githost.ErrDenied, "pull request 5 (u) is closed"},
		{pull(func(p *githost.PullRequest) { p.BaseRef, p.Open, p.Merged = "old", false, true }), "retargeted", person, person, person, nil, "pull request 5 (u) goes into old, and not into main"},
		{pull(func(p *githost.PullRequest) { p.Draft, p.Standing = true, githost.StandingConflict }), "draft", person, person, person, githost.ErrDenied, "pull request 5 (u) is a draft"},
		{approved(1, 2, false), "unapproved", on, person, person, githost.ErrDenied, "pull request 5 (u) waits for 1 approval by somebody with write access"},
		{approved(0, 2, true), "unapproved", on, person, person, githost.ErrDenied, "pull request 5 (u) waits for 2 approvals by people with write access; an owner of the code has to be among them"},
		{approved(2, 2, false), "anything else", on, on, person, githost.ErrDenied, ""},
		{at(githost.StandingBlocked), "anything else", on, on, person, githost.ErrDenied, ""},
		{at(""), "anything else", on, on, person, githost.ErrDenied, ""},
		{at(githost.StandingConflict), "conflict", on, on, githost.ForDeveloper, githost.ErrNotMergeable, ""},
		{at(githost.StandingRed), "red in a merge queue", on, on, githost.ForDeveloper, githost.ErrRed, ""},
		{at(githost.StandingBehind), "behind", on, on, githost.CatchUp, githost.ErrBehind, ""},
		{at(githost.StandingUnknown), "not compared", on, on, githost.Later, nil, "pull request 5 (u) has yet to be compared with its base"},
		{at(githost.StandingClean), "clean", on, on, githost.Later, nil, "pull request 5 (u) shows no reason for that"},
	} {
		row := c.pull.Row("main")
		require.Equal(t, c.state, row.State)
		require.Equal(t, [3]githost.Next{c.run, c.merge, c.refused}, row.Next, c.state)
		require.Equal(t, c.why, row.Why(c.pull, "main"))
		require.Equal(t, row.Next[githost.Refused] == person, row.Do != "", "a person is told what to do")
		if _, is := c.pull.Refusal(); c.state != "retargeted" {
			require.Equal(t, c.is, is, c.state)
		}
		seen[c.state] = true
	}
	require.Len(t, seen, len(githost.Readinesses), "a row without a case")
	body, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	require.Contains(t, string(body), table, "docs/operations.md wants:\n%s", table)
}

// An approval counts by its author's newest word, and by what that author may do.
func TestApprovals(t *testing.T) {
	t.Parallel()
	of := func(author string, s githost.ReviewState, may githost.Permission) githost.Review {
		return githost.Review{Author: author, State: s, Permission: may}
	}
	own := of("box", githost.ReviewApproved, githost.PermissionAdmin)
	own.Opener = true
	require.Equal(t, 2, githost.Approvals([]githost.Review{
		own, of("guest", githost.ReviewApproved, githost.PermissionRead), of("kim", githost.ReviewChangesRequested, githost.PermissionWrite),
		of("kim", githost.ReviewApproved, githost.PermissionWrite), of("kim", githost.ReviewCommented, githost.PermissionWrite), of("lee", githost.ReviewApproved, githost.PermissionAdmin),
		of("max", githost.ReviewApproved, githost.PermissionWrite), of("max", githost.ReviewDismissed, githost.PermissionWrite),
	}))
}
