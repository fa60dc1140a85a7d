package gitcli

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What a remote's hook or an HTTP server prints is shown line by line behind this.
const fromRemote = "remote: "

var (
	// httpStatus is that of a remote's HTTP server.
	httpStatus = regexp.MustCompile(`(?m)(?:The requested URL returned error:|^error: RPC failed; HTTP) (\d{3})`)
	// rejected is the line of a ref that was not pushed; in brackets is why.
	rejected = regexp.MustCompile(`(?m)^ ! \[(?:remote )?rejected\] .*\((.*)\)$`)
	// answered is a refusal in the service's own words.
	answered = regexp.MustCompile(`(?ms)^fatal: remote error: (.*)`)
	// later are the reasons, of the two before, that are none for good: a ref that is
	// locked, or has moved meanwhile, or a service that is not well.
	later = regexp.MustCompile(`(?i)\block|failed to update ref|stale info|incorrect old value|internal` +
		`|time ?out|timed out|try again|temporar|unavailable|too many|overload`)
	// refused matches the other words of git for a call that will end so again.
	refused = regexp.MustCompile(`(?m)^(?:` + strings.Join([]string{
		// No credentials, or wrong ones.
		`fatal: Authentication failed for `, `fatal: could not read (?:Username|Password) for `,
		`\S+: Permission denied \(`,
		`fatal: repository '.*' not found$`, `fatal: '.*' does not appear to be a git repository$`,
		`(?:remote: )?ERROR: .*(?:not found|not be found|denied|permission)`,
		`fatal: couldn't find remote ref `, `fatal: invalid refspec `,
		`.*exists; cannot create `, // a branch is in the way of the directory that another's name needs
	}, "|") + `)`)
)

// final reports whether git says, or what is behind the remote, that the same call
// will be refused again. It reads the messages, which are English (LC_ALL=C): the exit
// code is 128 for a name that cannot be resolved and for a wrong password alike. What
// it has no words for may pass.
func final(stderr string) bool {
	if strings.Contains(strings.ToLower(stderr), "rate limit") { // a host's limit comes as a 403
		return false
	}
	own := ""
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, fromRemote) { // words of others are no words of git
			own += line
		}
	}
	if m := httpStatus.FindStringSubmatch(own); m != nil {
		status, _ := strconv.Atoi(m[1]) // it is three digits
		return !fault.Passes(status)
	}
	if refused.MatchString(stderr) {
		return true
	}
	for _, reason := range []*regexp.Regexp{rejected, answered} {
		if m := reason.FindStringSubmatch(own); m != nil {
			return !later.MatchString(m[1])
		}
	}
	return false
}
