package agentout

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Diagnose says what is wrong with the agent, whatever its task, of a run that has failed by
// itself: by a field of the tool's own where it has one; else by its exit code; else by the
// beginning of its own error's text, which codex, gemini and agy have for most, opencode for
// models that are missing, and claude before it had fields; and where it has printed no
// event, by what its option parser or sign-in has written to standard error. What a model has
// written is not looked at. An unknown failure is none, and so is one whose exit code is not
// that of a tool that gives up: 0, or a signal's. An agent may write to its tool's output, and
// may kill it. Said is the line that said so.
func (s Output) Diagnose(f Format, found bool, exit int, stderr string, now time.Time) (t work.Trouble, said string) {
	// Gemini ends with the status of its API, of which eight bits are left; agy ends with 0 in any case.
	status := f == Gemini && exit >= http.StatusBadRequest%256
	if exit > signalled && !status || exit == 0 && f != Antigravity && f != Any {
		return t, ""
	}
	t = s.Trouble
	text := s.Reason
	if t.Kind == "" && f == Gemini {
		t.Kind = geminiExit(exit)
	}
	kind, line := textTrouble(f, text)
	if t.Kind == "" || t.Kind == work.TroubleLimit && kind == work.TroubleCredit { // both are 429 for some
		t.Kind, said = kind, line
	}
	if t.Kind == "" && !found && f != Any {
		t.Kind, said = textTrouble(f, errorLines(f, stderr)...)
		text = said
	}
	if t.Kind == work.TroubleLimit && t.Until.IsZero() {
		t.Until = until(text, now)
	}
	if t.Kind == "" || !t.Until.After(now) || t.Until.Sub(now) > untilMax {
		t.Until = time.Time{}
	}
	return t, said
}

// Waits reports whether the last thing that a tool has written to standard error says what is
// wrong with the agent, whatever its task: it tries again later, or waits.
func Waits(f Format, stderr string) bool {
	lines := errorLines(f, strings.TrimSpace(stderr))
	kind, _ := textTrouble(f, lines[len(lines)-1])
	return kind != ""
}

// openCodeLog is a line of OpenCode's log for an answer of its vendor that is an error.
var openCodeLog = regexp.MustCompile(`(?m)^timestamp=\S+ level=ERROR .*message="stream error" ` +
	`.*error\.error="AI_\w+: (?:Failed after \d+ attempts\. Last error: )?(.+?)"?$`)

// errorLines are the lines in which a tool speaks for itself.
func errorLines(f Format, stderr string) (lines []string) {
	if f == OpenCode {
		for _, m := range openCodeLog.FindAllStringSubmatch(stderr, -1) {
			lines = append(lines, m[1])
		}
	}
	if lines == nil {
		lines = strings.Split(stderr, "\n")
	}
	return lines
}

// signalled precedes the exit codes of signals.
const signalled = 128

// untilMax is more than any limit lasts; what is said to end later has no end that is known.
const untilMax = 35 * 24 * time.Hour

// statusTrouble translates an HTTP status of the vendor's API.
func statusTrouble(status int) work.TroubleKind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return work.TroubleLogin
	case http.StatusPaymentRequired:
		return work.TroubleCredit
	case http.StatusNotFound:
		return work.TroubleModel
	case http.StatusTooManyRequests:
		return work.TroubleLimit
	}
	return ""
}

// claudeTrouble translates a word of Claude Code for an error of the API.
func claudeTrouble(word string) work.TroubleKind {
	switch word {
	case "authentication_failed", "oauth_org_not_allowed":
		return work.TroubleLogin
	case "billing_error":
		return work.TroubleCredit
	case "rate_limit":
		return work.TroubleLimit
	case "model_not_found":
		return work.TroubleModel
	}
	return ""
}

// openCodeTrouble translates the name of an error of OpenCode.
func openCodeTrouble(name string) work.TroubleKind {
	switch name {
	case "ProviderAuthError":
		return work.TroubleLogin
	case "ProviderModelNotFoundError", "ModelNotFoundError":
		return work.TroubleModel
	}
	return ""
}

// geminiExit translates an exit code of Gemini CLI.
func geminiExit(code int) work.TroubleKind {
	switch code {
	case 41: // authentication
		return work.TroubleLogin
	case 55: // the directory is not trusted
		return work.TroublePerson
	}
	return ""
}

// knownTrouble is a kind by its name.
func knownTrouble(name string) work.TroubleKind {
	switch k := work.TroubleKind(name); k {
	case work.TroubleLogin, work.TroubleCredit, work.TroubleLimit, work.TroubleModel, work.TroubleOutdated, work.TroublePerson:
		return k
	}
	return ""
}

// pattern is a beginning of a tool's own words, and what they mean.
type pattern struct {
	kind work.TroubleKind
	form string
}

// patterns of a tool, the first that fits first.
func patterns(f Format) []pattern {
	switch f {
	case Claude:
		return []pattern{
			{work.TroubleLogin, `not logged in|invalid api key|oauth token revoked|session expired` +
				`|your anthropic_api_key belongs|your organization has disabled` +
				`|(please run|run) /login|failed to authenticate|api error: 40[13]\b`},
			{work.TroubleCredit, `credit balance is too low|api error: 402\b`},
			{work.TroubleLimit, `claude(?: ai)? usage limit|you've hit your|you've reached your` +
				`|api error: (?:request rejected \(429\)|429\b)`},
			{work.TroubleModel, `there's an issue with the selected model|api error: 404\b.*not_found_error`},
			{work.TroubleOutdated, `error: (?:unknown option|option '[^']*' argument|.*requires a newer version)`},
			{work.TroublePerson, `\[action required\]|an update to our consumer terms`},
		}
	case Codex:
		return []pattern{
			{work.TroubleCredit, `quota exceeded|to use codex with your chatgpt plan` +
				`|you've hit your usage limit\b.*purchase more credits\.?$` +
				`|unexpected status 402\b|unexpected status 429\b.*insufficient_quota`},
			{work.TroubleLimit, `you.ve hit your usage limit|unexpected status 429\b|exceeded retry limit, last status: 429\b`},
			{work.TroubleModel, `the '?[^' ]+'? model (?:is not supported|does not exist)|the model .* does not exist` +
				`|unexpected status 40[04]\b.*(?:model_not_found|model is not supported|does not exist)` +
				`|\{.*model.*not supported`},
			{work.TroubleLogin, `not logged in|unexpected status 40[13]\b|exceeded retry limit, last status: 40[13]\b` +
				`|failed to refresh token|your access token could not be refreshed`},
			{work.TroubleOutdated, `error: (?:unexpected argument|unrecognized subcommand|invalid value)` +
				`|.*requires a newer version of codex`},
			{work.TroublePerson, `not inside a trusted directory`},
		}
	case Gemini, Antigravity:
		return []pattern{
			{work.TroubleLimit, `.*(?:resource_exhausted|exhausted your (?:daily quota|capacity|quota)|quota exceeded` +
				`|exceeded your current quota|too many requests|"code": ?429|\bstatus:? 429\b|individual quota reached)`},
			{work.TroubleLogin, `.*(?:unauthenticated|api key not valid|api_key_invalid|please set an auth method` +
				`|not signed in|not logged in|authentication required|"code": ?40[13]\b` +
				`|no longer supported for gemini code assist)`},
			{work.TroubleModel, `.*(?:requested entity was not found|models/\S+ is not found|model not found|unknown model)`},
			{work.TroubleOutdated, `unknown arguments?:|flags? provided but not defined|unknown flag|error: unknown (?:flag|option)`},
			{work.TroublePerson, `.*not running in a trusted directory`},
		}
	case OpenCode:
		return []pattern{
			{work.TroubleModel, `(?:error: )?model not found:`},
			{work.TroubleCredit, `.*(?:insufficient_quota|exceeded your current quota|credit balance is too low` +
				`|insufficient (?:credits|balance))`},
			{work.TroubleLimit, `(?:the )?(?:usage limit has been reached|rate limit|too many requests)`},
			{work.TroubleOutdated, `unknown arguments?:`},
		}
	}
	return nil
}

// textTrouble finds the line that says most, and what it means.
func textTrouble(f Format, said ...string) (work.TroubleKind, string) {
	for i := range said {
		said[i] = strings.Join(strings.Fields(Clip(Plain(said[i]), lineMax/64)), " ")
	}
	for _, p := range patterns(f) {
		form := regexp.MustCompile(`(?i)^(?:` + p.form + `)`)
		for _, line := range said {
			if form.MatchString(line) {
				return p.kind, line
			}
		}
	}
	return "", ""
}

// Forms in which tools say when a limit ends. Times of the day without a zone are of the
// tool's, which is the service's.
var (
	// Claude until 2025: "… limit reached|1755806400".
	unixForm = regexp.MustCompile(`\|(\d{10})\b`)
	// Codex and Gemini: "in 3 hours 5 minutes", "after 3h12m5s".
	spanForm = regexp.MustCompile(`(?i)\b(?:in|after) ` +
		`((?:\d+(?:\.\d+)? ?(?:ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)[ ,]*)+)`)
	spanPart = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?(ms|d|h|m|s)`)
	// Claude: "resets 3pm (Europe/Oslo)", "resets Jan 5, 3pm (UTC)"; Codex: "try again at Jan 5th, 2027 3:05 PM".
	clockForm = regexp.MustCompile(`(?i)\b(?:resets(?: at)?|try again at) ` +
		`(?:([a-z]{3}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?(?:,| at)? )?` +
		`(\d{1,2})(?::(\d{2}))? ?([ap])m(?: \(([\w/+-]+)\))?`)
)

// until is when a limit ends by the words of a tool; zero when they have no form that is known.
func until(text string, now time.Time) time.Time {
	if m := unixForm.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // of digits
		return moment(seconds)
	}
	if m := clockForm.FindStringSubmatch(text); m != nil {
		return clock(m[1:], now)
	}
	m := spanForm.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	var sum float64
	for _, part := range spanPart.FindAllStringSubmatch(m[1], -1) {
		n, _ := strconv.ParseFloat(part[1], 64) // of digits
		unit := map[string]time.Duration{
			"ms": time.Millisecond,
			"s":  time.Second,
			"m":  time.Minute,
			"h":  time.Hour,
			"d":  24 * time.Hour,
		}[strings.ToLower(part[2])]
		sum += n * float64(unit)
	}
	if sum <= 0 || sum > float64(untilMax) {
		return time.Time{}
	}
	return now.Add(time.Duration(sum)).UTC()
}

// clock is the next moment of month, day, year, hour, minute, half of the day and zone; what is
// not said of a date is the next that there is.
func clock(part []string, now time.Time) time.Time {
	zone := time.Local
	if part[6] != "" {
		var err error
		if zone, err = time.LoadLocation(part[6]); err != nil {
			return time.Time{}
		}
	}
	now = now.In(zone)
	hour, minute := number(part[3])%12, number(part[4])
	if strings.EqualFold(part[5], "p") {
		hour += 12
	}
	if part[0] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at.UTC()
	}
	month, err := time.Parse("Jan", part[0])
	if err != nil {
		return time.Time{}
	}
	at := time.Date(cmp.Or(number(part[2]), now.Year()), month.Month(), number(part[1]), hour, minute, 0, 0, zone)
	if part[2] == "" && !at.After(now) {
		at = at.AddDate(1, 0, 0)
	}
	return at.UTC()
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // none is 0
	return n
}
