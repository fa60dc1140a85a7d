package agentcli

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Identify implements work.Identifier: the name is the preset or the command line.
func (r *Runner) Identify(a work.Agent) (name, vendor string) {
	a.Use = cmp.Or(a.Use, r.opt.Default)
	return a.Use, VendorOf(a)
}

// VendorOf is the vendor of an agent's models, as far as its tool and its model say; empty =
// not known. A command that calls a known tool is that tool's.
func VendorOf(a work.Agent) string {
	words, err := Split(a.Use)
	if err != nil {
		return ""
	}
	switch filepath.Base(words[0]) {
	case "claude":
		return "anthropic"
	case "codex":
		return "openai"
	case "gemini", "antigravity", "agy":
		return "google"
	case "opencode": // its models are provider/model
		vendor, _, named := strings.Cut(a.Model, "/")
		if named {
			return vendor
		}
	}
	return ""
}
