package modelgateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// vendor is an API.
type vendor struct {
	name   string
	prefix string // of its routes at the gateway
	home   string // base address
	header string // in which the key is sent
	begin  string // what stands before the key there
	calls  *regexp.Regexp
	asides *regexp.Regexp // that cost nothing

	base *url.URL
	key  secret.String
}

func vendorNamed(name string) (v vendor, known bool) {
	switch name {
	case Anthropic:
		return vendor{
			name: name, prefix: "anthropic", home: "https://api.anthropic.com", header: "X-Api-Key",
			calls:  regexp.MustCompile(`^POST /v1/messages$`),
			asides: regexp.MustCompile(`^(POST /v1/messages/count_tokens|GET /v1/models(/[\w.:-]+)?)$`),
		}, true
	case OpenAI:
		return vendor{
			name: name, prefix: "openai", home: "https://api.openai.com", header: "Authorization", begin: "Bearer ",
			calls:  regexp.MustCompile(`^POST /v1/(responses|chat/completions)$`),
			asides: regexp.MustCompile(`^GET /v1/models(/[\w.:-]+)?$`),
		}, true
	case Google:
		return vendor{
			name: name, prefix: "gemini", home: "https://generativelanguage.googleapis.com", header: "X-Goog-Api-Key",
			calls:  regexp.MustCompile(`^POST /v1(?:beta)?/models/([\w.-]+):(?:g|streamG)enerateContent$`),
			asides: regexp.MustCompile(`^(POST /v1(beta)?/models/[\w.-]+:countTokens|GET /v1(beta)?/models(/[\w.-]+)?)$`),
		}, true
	}
	return v, false
}

// What is refused here, in the place of the vendor. 402 is tried again by no tool.
const (
	statusBudget = http.StatusPaymentRequired
	statusBusy   = http.StatusTooManyRequests
)

// failure is an error in the vendor's own form.
func (v vendor) failure(status int, why string) any {
	kind := map[int][3]string{ // of Anthropic, OpenAI and Google
		http.StatusBadRequest:            {"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
		http.StatusUnauthorized:          {"authentication_error", "invalid_api_key", "UNAUTHENTICATED"},
		http.StatusPaymentRequired:       {"billing_error", "insufficient_quota", "RESOURCE_EXHAUSTED"},
		http.StatusNotFound:              {"not_found_error", "not_found", "NOT_FOUND"},
		http.StatusRequestEntityTooLarge: {"request_too_large", "request_too_large", "INVALID_ARGUMENT"},
		http.StatusTooManyRequests:       {"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"},
	}
	k, known := kind[status]
	if !known {
		k = [3]string{"api_error", "server_error", "UNAVAILABLE"}
	}
	switch v.name {
	case Anthropic:
		return map[string]any{"type": "error", "error": map[string]any{"type": k[0], "message": why}}
	case Google:
		return map[string]any{"error": map[string]any{"code": status, "message": why, "status": k[2]}}
	}
	failed := map[string]any{"message": why, "type": k[1], "code": k[1], "param": nil}
	return map[string]any{"type": "error", "message": why, "code": k[1], "error": failed}
}

// refuse answers with an error.
func (v vendor) refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	if status == statusBusy {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v.failure(status, why)) // the agent may have gone
}

// lastWords are the end of a stream that is cut: an error, whatever was on its way.
func (v vendor) lastWords(why string) []byte {
	body, _ := json.Marshal(v.failure(statusBudget, why)) // of strings
	event := "event: error\n"
	if v.name == Google { // its events have no names
		event = ""
	}
	return fmt.Appendf(nil, "\n\n%sdata: %s\n\n", event, body)
}

// token returns the token of a request: all tools send what they take for a key.
func token(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); bearer {
		return key
	}
	return r.URL.Query().Get("key")
}

// passed are the headers of a request that go to the vendor: none says who sends it.
func passed(h http.Header) http.Header {
	out := http.Header{"Accept-Encoding": {"identity"}}
	for _, name := range []string{
		"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "X-Goog-Api-Client",
	} {
		if values := h.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// returned are the headers of an answer that go to the agent: none says whose account it is.
func returned(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch name {
		case "Content-Type", "Content-Length", "Date", "Retry-After", "Retry-After-Ms", "Request-Id", "X-Request-Id", "X-Should-Retry":
			out[name] = values
		}
		for _, begin := range []string{"Anthropic-Ratelimit-", "X-Ratelimit-"} {
			if strings.HasPrefix(name, begin) {
				out[name] = values
			}
		}
	}
	return out
}
