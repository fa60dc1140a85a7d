package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Fault is an answer that is none.
type Fault string

// Faults.
const (
	Unauthorized Fault = "unauthorized"  // the key is wrong
	NoCredit     Fault = "no credit"     // the account is empty
	RateLimited  Fault = "rate limited"  // 429, with seconds to wait
	UsageLimit   Fault = "usage limit"   // 429 of an allowance that comes again in hours
	UnknownModel Fault = "unknown model" // there is none of the name
	Overloaded   Fault = "overloaded"    // the vendor has too much to do
	Hang         Fault = "hang"          // headers come, and nothing after them
	BreakOff     Fault = "break off"     // the connection ends in the middle of a stream

	unsigned Fault = "unsigned" // there is no key at all
)

// RetrySeconds is how long RateLimited has a caller wait, and LimitHours UsageLimit.
const (
	RetrySeconds = 1
	LimitHours   = 3
)

// refusal is how a vendor says it: with a status, a kind of error and words.
type refusal struct {
	status     int
	kind, text string
}

func refusals(model string) map[Dialect]map[Fault]refusal {
	openai := map[Fault]refusal{
		unsigned: {401, "invalid_request_error", "Missing bearer or basic authentication in header"},
		Unauthorized: {401, "invalid_api_key", "Incorrect API key provided: sk-imitated. " +
			"You can find your API key at https://platform.openai.com/account/api-keys."},
		NoCredit: {429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."},
		RateLimited: {429, "rate_limit_exceeded", fmt.Sprintf("Rate limit reached for %s on tokens per min (TPM): "+
			"Limit 30000, Used 30000, Requested 9. Please try again in %ds.", model, RetrySeconds)},
		UsageLimit:   {429, "usage_limit_reached", "The usage limit has been reached"},
		UnknownModel: {404, "model_not_found", fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model)},
		Overloaded:   {503, "server_is_overloaded", "Our servers are currently overloaded. Please try again later."},
	}
	return map[Dialect]map[Fault]refusal{
		Anthropic: {
			unsigned:     {401, "authentication_error", "x-api-key header is required"},
			Unauthorized: {401, "authentication_error", "invalid x-api-key"},
			NoCredit: {400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. " +
				"Please go to Plans & Billing to upgrade or purchase credits."},
			RateLimited: {429, "rate_limit_error", "This request would exceed your organization's rate limit " +
				"of 30,000 input tokens per minute."},
			UsageLimit:   {429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."},
			UnknownModel: {404, "not_found_error", "model: " + model},
			Overloaded:   {529, "overloaded_error", "Overloaded"},
		},
		Responses: openai, Chat: openai,
		Gemini: {
			unsigned:     {403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity)."},
			Unauthorized: {400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."},
			NoCredit: {429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. " +
				"Please go to AI Studio to manage your project and billing."},
			RateLimited: {429, "RESOURCE_EXHAUSTED", fmt.Sprintf("You exceeded your current quota, "+
				"please check your plan and billing details. Please retry in %d.0s.", RetrySeconds)},
			UsageLimit: {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."},
			UnknownModel: {404, "NOT_FOUND", fmt.Sprintf("models/%s is not found for API version v1beta, "+
				"or is not supported for generateContent.", model)},
			Overloaded: {503, "UNAVAILABLE", "The model is overloaded. Please try again later."},
		},
	}
}

// fail answers with a vendor's refusal.
func fail(w http.ResponseWriter, q Request, f Fault) {
	r := refusals(q.Model)[q.Dialect][f]
	reset := time.Now().Add(LimitHours * time.Hour)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	var body any
	switch q.Dialect {
	case Anthropic:
		body = object{"type": "error", "error": object{"type": r.kind, "message": r.text}, "request_id": "req_imitated"}
		if f == UsageLimit {
			h.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
			h.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(reset.Unix(), 10))
			h.Set("Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour")
		}
	case Gemini:
		body = object{"error": object{"code": r.status, "message": r.text, "status": r.kind, "details": details(f)}}
	default:
		e := object{"message": r.text, "type": r.kind, "param": nil, "code": r.kind}
		if f == UsageLimit {
			e["plan_type"], e["resets_at"], e["resets_in_seconds"] = "plus", reset.Unix(), LimitHours*3600
		}
		body = object{"error": e}
	}
	switch f {
	case RateLimited:
		h.Set("Retry-After", strconv.Itoa(RetrySeconds))
	case UsageLimit:
		h.Set("Retry-After", strconv.Itoa(LimitHours*3600))
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(body) // the agent may have gone
}

// details returns what Google adds for programs.
func details(f Fault) []any {
	const api = "type.googleapis.com/google.rpc."
	quota := func(id, wait string) []any {
		metric := "generativelanguage.googleapis.com/generate_content_requests"
		return []any{
			object{"@type": api + "QuotaFailure", "violations": []any{object{"quotaMetric": metric, "quotaId": id}}},
			object{"@type": api + "RetryInfo", "retryDelay": wait},
		}
	}
	switch f {
	case Unauthorized:
		return []any{object{"@type": api + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}}
	case RateLimited:
		return quota("GenerateRequestsPerMinutePerProjectPerModel", fmt.Sprintf("%ds", RetrySeconds))
	case UsageLimit:
		return quota("GenerateRequestsPerDayPerProjectPerModel", fmt.Sprintf("%ds", LimitHours*3600))
	}
	return []any{}
}
