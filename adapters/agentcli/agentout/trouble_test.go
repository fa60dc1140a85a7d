package agentout

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What tools say of themselves, and not what models say, is what is wrong with an agent.
func TestDiagnose(t *testing.T) {
	now := time.Date(2026, 11, 23, 14, 30, 0, 0, time.UTC)
	const claudeSays = `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"said by the tool"}]},"error":"%s"}`
	for name, c := range map[string]struct {
		format Format
		out    string
		exit   int
		stderr string
		want   work.TroubleKind
		until  time.Time
	}{
		"claude login": {Claude, `{"type":"assistant","message":{"content":[{"type":"text","text":"Not logged in · Please run /login"}]},"error":"authentication_failed"}
{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}`, 1, "", work.TroubleLogin, time.Time{}},
		"claude login before it had fields": {Claude, `{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Fix external API key"}`, 1, "", work.TroubleLogin, time.Time{}},
		"claude credit":                     {Claude, `{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}`, 1, "", work.TroubleCredit, time.Time{}},
		"claude 429":                        {Claude, `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: Request rejected (429) · this may be a temporary capacity issue."}`, 1, "", work.TroubleLimit, time.Time{}},
		"claude limit by an event": {Claude, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795456800}}
{"type":"assistant","message":{"content":[{"type":"text","text":"You've hit your session limit"}]},"error":"rate_limit"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit · resets 6pm (UTC)"}`, 1, "", work.TroubleLimit, time.Unix(1795456800, 0).UTC()},
		"claude limit by a text":     {Claude, `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your weekly limit · resets 3pm (Europe/Oslo)"}`, 1, "", work.TroubleLimit, time.Date(2026, 11, 24, 14, 0, 0, 0, time.UTC)},
		"claude limit of old":        {Claude, `{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1795456800"}`, 1, "", work.TroubleLimit, time.Unix(1795456800, 0).UTC()},
		"claude model":               {Claude, `{"type":"result","subtype":"success","is_error":true,"api_error_status":404,"result":"There's an issue with the selected model (x)."}`, 1, "", work.TroubleModel, time.Time{}},
		"claude option":              {Claude, "", 1, "error: unknown option '--bogus'\n", work.TroubleOutdated, time.Time{}},
		"claude terms":               {Claude, "", 1, "[ACTION REQUIRED] An update to our Consumer Terms has taken effect.", work.TroublePerson, time.Time{}},
		"claude overloaded":          {Claude, `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 overloaded"}`, 1, "", "", time.Time{}},
		"claude recovered":           {Claude, `{"type":"assistant","message":{"content":[]},"error":"rate_limit"}` + "\n" + `{"type":"result","subtype":"success","is_error":false,"result":"ok"}`, 1, "", "", time.Time{}},
		"a model's words":            {Claude, `{"type":"assistant","message":{"content":[{"type":"text","text":"Invalid API key"}]}}` + "\n" + `{"type":"result","subtype":"error_max_turns","is_error":true,"result":"Not logged in","errors":["Reached maximum number of turns (3)"]}`, 1, "Not logged in", "", time.Time{}},
		"a model's words before it":  {Codex, `{"type":"item.completed","item":{"type":"agent_message","text":"unexpected status 401"}}` + "\n" + `{"type":"turn.failed","error":{"message":"stream disconnected: unexpected status 401"}}`, 1, "", "", time.Time{}},
		"codex login":                {Codex, `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key provided"}}`, 1, "", work.TroubleLogin, time.Time{}},
		"codex 429":                  {Codex, `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`, 1, "", work.TroubleLimit, time.Time{}},
		"codex limit":                {Codex, `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again at Nov 25th, 2026 3:05 PM."}}`, 1, "", work.TroubleLimit, time.Date(2026, 11, 25, 15, 5, 0, 0, time.Local).UTC()},
		"codex limit for a while":    {Codex, `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 1 day 2 hours 5 minutes."}}`, 1, "", work.TroubleLimit, now.Add(26*time.Hour + 5*time.Minute)},
		"codex credit":               {Codex, `{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and billing details."}}`, 1, "", work.TroubleCredit, time.Time{}},
		"codex model":                {Codex, `{"type":"turn.failed","error":{"message":"The 'gpt-0' model is not supported when using Codex with a ChatGPT account."}}`, 1, "", work.TroubleModel, time.Time{}},
		"codex option":               {Codex, "", 2, "error: unexpected argument '--bogus' found\n\n  tip: x\n", work.TroubleOutdated, time.Time{}},
		"gemini login by its code":   {Gemini, "", 41, "Please set an Auth method in your settings.json", work.TroubleLogin, time.Time{}},
		"gemini trust":               {Gemini, "", 55, "Gemini CLI is not running in a trusted directory.", work.TroublePerson, time.Time{}},
		"gemini quota":               {Gemini, `{"type":"result","status":"error","error":{"type":"Error","message":"You have exhausted your daily quota on this model. Suggested retry after 3h12m5s."}}`, 1, "", work.TroubleLimit, now.Add(3*time.Hour + 12*time.Minute + 5*time.Second)},
		"gemini quota by its status": {Gemini, `{"type":"result","status":"error","error":{"type":"Error","message":"You have exhausted your daily quota on this model."}}`, 173, "", work.TroubleLimit, time.Time{}},
		"gemini killed":              {Gemini, `{"type":"result","status":"error","error":{"type":"Error","message":"You have exhausted your daily quota on this model."}}`, 137, "", "", time.Time{}},
		"gemini option":              {Gemini, "", 1, "Unknown argument: bogus\nUsage: gemini", work.TroubleOutdated, time.Time{}},
		"opencode login":             {OpenCode, `{"type":"error","error":{"name":"ProviderAuthError","data":{"message":"no key"}}}`, 1, "", work.TroubleLogin, time.Time{}},
		"opencode 429":               {OpenCode, `{"type":"error","error":{"name":"APIError","data":{"message":"slow down","statusCode":429}}}`, 1, "", work.TroubleLimit, time.Time{}},
		"opencode 429 without money": {OpenCode, `{"type":"error","error":{"name":"APIError","data":{"message":"insufficient_quota: check your plan","statusCode":429}}}`, 1, "", work.TroubleCredit, time.Time{}},
		"opencode model":             {OpenCode, `{"type":"error","error":{"name":"UnknownError","data":{"message":"Model not found: openai/x."}}}`, 1, "", work.TroubleModel, time.Time{}},
		"opencode limit in its log": {OpenCode, "", 1, `timestamp=2026-11-23T12:35:50.868Z level=ERROR run=1 message="stream error" agent=build error.error="AI_RetryError: Failed after 3 attempts. Last error: The usage limit has been reached"
`, work.TroubleLimit, time.Time{}},
		"opencode, another error's log": {OpenCode, "", 1, `timestamp=2026-11-23T12:35:50.868Z level=ERROR run=1 message="command failed" error.error="AI_RetryError: The usage limit has been reached"`, "", time.Time{}},
		"agy quota":                     {Antigravity, `{"event":"result","result":{"status":"ERROR","error":"RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h."}}`, 0, "", work.TroubleLimit, now.Add(2 * time.Hour)},
		"its own word":                  {Any, `{"type":"result","error":"no seat left","trouble":"limit","until":"2026-11-23T18:00:00Z"}`, 1, "", work.TroubleLimit, time.Date(2026, 11, 23, 18, 0, 0, 0, time.UTC)},
		"a word of nobody":              {Any, `{"type":"result","error":"x","trouble":"boredom"}`, 1, "Not logged in", "", time.Time{}},
		"an end long ago":               {Claude, `{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1000000000"}`, 1, "", work.TroubleLimit, time.Time{}},
		"an end that is none":           {Codex, `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 400 days."}}`, 1, "", work.TroubleLimit, time.Time{}},
		"a form that is not known":      {Codex, `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at the full moon."}}`, 1, "", work.TroubleLimit, time.Time{}},
	} {
		out, found := Parse(c.format, []byte(c.out))
		got, _ := out.Diagnose(c.format, found, c.exit, c.stderr, now)
		require.Equal(t, work.Trouble{Kind: c.want, Until: c.until}, got, name)
	}
	for word, want := range map[string]work.TroubleKind{"billing_error": work.TroubleCredit, "model_not_found": work.TroubleModel, "oauth_org_not_allowed": work.TroubleLogin, "server_error": "", "overloaded": ""} {
		out, found := Parse(Claude, []byte(strings.ReplaceAll(claudeSays, "%s", word)+"\n"+`{"type":"result","subtype":"success","is_error":true,"result":"said by the tool"}`))
		got, _ := out.Diagnose(Claude, found, 1, "", now)
		require.Equal(t, want, got.Kind, word)
	}
}
