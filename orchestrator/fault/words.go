package fault

import "regexp"

// rewrites are how Go's libraries put what has happened, and how people do. They apply in
// order.
var rewrites = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\b(?:Get|Head|Post|Put|Patch|Delete) "(\S+?)": `), "$1: "},
	{regexp.MustCompile(`dial tcp:? (?:\S+: )?lookup (\S+?)(?: on \S+)?: [^:;]+`), "the name $1 cannot be resolved"},
	{regexp.MustCompile(`dial tcp (\S+): connect: connection refused`), "$1 takes no connection"},
	{regexp.MustCompile(`dial tcp (\S+): (?:connect: )?`), "no connection to $1: "},
	{regexp.MustCompile(`(?:read|write) tcp \S+->(\S+): (?:read|write): `), "the connection to $1: "},
	{regexp.MustCompile(`(?:net/http: )?(?:context deadline exceeded|request canceled|i/o timeout|TLS handshake timeout)` +
		`(?: \(Client\.Timeout exceeded[^)]*\))?(?:: context deadline exceeded)?`), "no answer in time"},
	{regexp.MustCompile(`context canceled`), "interrupted"},
	{regexp.MustCompile(`\b(?:unexpected )?EOF\b`), "it broke off"},
	{regexp.MustCompile(`(?:json: |(?:proto|yaml): )?` +
		`(?:invalid character '.+?' (?:looking for|after|in) [^:;]+` +
		`|unexpected end of JSON input|cannot unmarshal .+ into Go [^:;]+)`), "it cannot be read"},
	{regexp.MustCompile(`strconv\.\w+: parsing ("(?:[^"\\]|\\.)*"): (?:invalid syntax|value out of range)`), "$1 is no such value"},
	{regexp.MustCompile(`exec: "([^"]+)": executable file not found in \$PATH`), "the program $1 is not installed"},
	{regexp.MustCompile(`\b(?:fork/exec|lstat|stat|open|openat|mkdir|unlinkat|rename) (/[^:]*): `), "$1: "},
	{regexp.MustCompile(`\bexit status (\d+)`), "exit code $1"},
	// of packages of this module, at the beginning of what an error says
	{regexp.MustCompile(`(^|: )(?:(?:githost|tracker|messenger|orchestrator|queue|work|plane|labelboard|github` +
		`|gitea|telegram|slack|gitcli|agentcli|sqlite|postgres|mem[a-z]+): )+`), "$1"},
}

// Words puts an error's text into words for people who do not read Go: on cards and in
// the chat. Logs have the text itself.
func Words(text string) string {
	for _, r := range rewrites {
		text = r.from.ReplaceAllString(text, r.to)
	}
	return text
}
