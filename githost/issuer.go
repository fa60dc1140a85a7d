package githost

import (
	"slices"
	"strings"
)

// NoteForeign marks the checks of a list that come from another issuer than those of the same name on the base branch:
// a name is no proof of who has judged. A name that the base does not have, or without an issuer there, says nothing.
func NoteForeign(list, base []Check, branch string) {
	for i, c := range list {
		var usual []string
		for _, b := range base {
			if b.Name == c.Name && b.Issuer != "" && b.State != CheckExpected {
				usual = append(usual, b.Issuer)
			}
		}
		if c.Foreign == "" && c.Issuer != "" && len(usual) > 0 && !slices.Contains(usual, c.Issuer) {
			list[i].Foreign = "on " + branch + " it comes from " + strings.Join(usual, ", ")
		}
	}
}

// FirstSight adds to checks of a base branch those of its head now whose names it lacks: who reports a name first there
// keeps it, since any account that may write can report on main.
func FirstSight(known, now []Check) []Check {
	out := slices.Clip(known)
	for _, c := range now {
		if !slices.ContainsFunc(known, func(k Check) bool { return k.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

// StatusCommit returns the commit that a host's address of a status (…/statuses/<sha>) names; empty when it names none.
// A branch or tag whose name is that of a commit may have been read in the place of that commit.
func StatusCommit(address string) string {
	_, sha, _ := strings.Cut(address, "/statuses/")
	if len(sha) < 40 || strings.Trim(sha, "0123456789abcdef") != "" {
		return ""
	}
	return sha
}
