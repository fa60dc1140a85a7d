package modelgateway

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// soon is how long a limit lasts at most that tools wait for by themselves.
const soon = time.Minute

// saidMax is how much of a vendor's words about a refusal is kept, in bytes.
const saidMax = 300

// refusal is the error of any of the vendors.
type refusal struct {
	Error struct {
		Message  string
		Code     any   // a word at OpenAI, a status at Google
		ResetsAt int64 `json:"resets_at"` // unix seconds
		Details  []struct {
			Reason     string
			Delay      string `json:"retryDelay"`
			Violations []struct {
				Quota string `json:"quotaId"`
			}
		}
	}
}

// empty are the words of an account without money, and daily those of a limit that lasts.
var (
	empty = regexp.MustCompile(`(?i)credit balance is too low|insufficient_quota` +
		`|(?:credits|balance) (?:are|is) depleted|billing details\.$`)
	daily = regexp.MustCompile(`PerDay|usage_limit_reached`)
)

// troubleOf returns what a refusal says of all requests of the account, and the vendor's words.
// A limit that ends soon is none: tools wait for that by themselves.
func troubleOf(status int, h http.Header, body []byte, now time.Time) (t work.Trouble, said string) {
	var r refusal
	_ = json.Unmarshal(body, &r) // what has another form says less
	words, _ := r.Error.Code.(string)
	until := endOf(h, r, now)
	quota := ""
	for _, d := range r.Error.Details {
		words += " " + d.Reason
		for _, v := range d.Violations {
			quota += " " + v.Quota
		}
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || strings.Contains(words, "API_KEY_INVALID"):
		t.Kind = work.TroubleLogin
	case status == http.StatusPaymentRequired,
		status != http.StatusNotFound && quota == "" && until.IsZero() && empty.MatchString(words+" "+r.Error.Message):
		t.Kind = work.TroubleCredit
	case status == http.StatusTooManyRequests && (until.Sub(now) > soon || daily.MatchString(words+quota)):
		t = work.Trouble{Kind: work.TroubleLimit, Until: until}
	}
	said = strings.ToValidUTF8(r.Error.Message[:min(len(r.Error.Message), saidMax)], "")
	return t, said
}

// endOf is when a limit ends, as far as headers or body say so.
func endOf(h http.Header, r refusal, now time.Time) time.Time {
	reset, err := strconv.ParseInt(h.Get("Anthropic-Ratelimit-Unified-Reset"), 10, 64)
	if err == nil && h.Get("Anthropic-Ratelimit-Unified-Status") == "rejected" {
		return time.Unix(reset, 0).UTC()
	}
	if r.Error.ResetsAt > 0 {
		return time.Unix(r.Error.ResetsAt, 0).UTC()
	}
	for _, d := range r.Error.Details {
		if wait, err := time.ParseDuration(d.Delay); err == nil {
			return now.Add(wait).UTC()
		}
	}
	if seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32); err == nil {
		return now.Add(time.Duration(seconds) * time.Second).UTC()
	}
	return time.Time{}
}
