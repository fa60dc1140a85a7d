package modelgateway

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
)

// equip returns what an execution gets: the gateway's address and its token in the way that its
// tool takes them, and nothing else by which the tool would sign in. A command gets the variables
// of all vendors that are served, and the gateway's own.
func equip(x agentcli.LinkedRun, at, token string, served []string) agentcli.Opened {
	o := agentcli.Opened{Env: map[string]string{"SIGNALBOX_MODEL_URL": at, "SIGNALBOX_MODEL_TOKEN": token}}
	for _, vendor := range served {
		for _, name := range signIn(vendor) {
			o.Env[name] = ""
		}
	}
	vars := map[string]map[string]string{
		Anthropic: {"ANTHROPIC_BASE_URL": at + "/anthropic", "ANTHROPIC_API_KEY": token},
		OpenAI:    {"OPENAI_BASE_URL": at + "/openai/v1", "OPENAI_API_KEY": token},
		Google:    {"GOOGLE_GEMINI_BASE_URL": at + "/gemini", "GEMINI_API_KEY": token},
	}
	switch x.Tool {
	case "claude":
		maps.Copy(o.Env, map[string]string{"ANTHROPIC_BASE_URL": at + "/anthropic", "ANTHROPIC_AUTH_TOKEN": token})
		o.Home = map[string]string{}
	case "codex":
		o.Env["CODEX_API_KEY"] = token
		o.Args = []string{"-c", "openai_base_url=" + quoted(at+"/openai/v1")}
		if x.Agent.Model == "" && x.Model != "" { // that of the file, which it does not get
			o.Args = append(o.Args, "-c", "model="+quoted(x.Model))
		}
		o.Home = map[string]string{}
	case "gemini": // by itself it refuses a key together with an address
		maps.Copy(o.Env, vars[Google])
		o.Home = map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`}
	case "opencode":
		o.Env["OPENCODE_CONFIG_CONTENT"] = openCode(at, token, served)
		o.Home = map[string]string{}
	default:
		for _, vendor := range served {
			maps.Copy(o.Env, vars[vendor])
		}
	}
	return o
}

// openCode are settings of OpenCode: its providers are called at the gateway.
func openCode(at, token string, served []string) string {
	type options struct {
		Base string `json:"baseURL"`
		Key  string `json:"apiKey"`
	}
	type provider struct {
		Options options `json:"options"`
	}
	all := map[string]provider{}
	for vendor, path := range map[string]string{Anthropic: "/anthropic/v1", OpenAI: "/openai/v1", Google: "/gemini/v1beta"} {
		if slices.Contains(served, vendor) {
			all[vendor] = provider{options{at + path, token}}
		}
	}
	return quoted(map[string]any{"provider": all})
}

// quoted is a value as JSON; of a string that is TOML too.
func quoted(v any) string {
	body, _ := json.Marshal(v) // of strings
	return string(body)
}

// signIn are the variables by which tools sign in at a vendor, or find another address of it.
func signIn(vendor string) []string {
	switch vendor {
	case Anthropic:
		return []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
		}
	case OpenAI:
		return []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_API_KEY"}
	default:
		return []string{
			"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
		}
	}
}
