package app

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// vendors are the accounts of the gateway of models.
func (s Settings) vendors() map[string]modelgateway.Vendor {
	return map[string]modelgateway.Vendor{
		modelgateway.Anthropic: {Key: s.AnthropicKey, URL: s.AnthropicURL},
		modelgateway.OpenAI:    {Key: s.OpenAIKey, URL: s.OpenAIURL},
		modelgateway.Google:    {Key: s.GeminiKey, URL: s.GeminiURL},
	}
}

// keysInGateway are the vendors whose keys agents do not get.
func (s Settings) keysInGateway() (names []string) {
	for name, v := range s.vendors() {
		if s.ModelGateway != "" && v.Key.IsSet() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkGateway reports what is wrong with the settings of the gateway, by their names.
func (s Settings) checkGateway(wrong func(name, format string, args ...any)) {
	for name, value := range map[string]string{"ANTHROPIC_URL": s.AnthropicURL, "OPENAI_URL": s.OpenAIURL, "GEMINI_URL": s.GeminiURL} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "") {
			wrong(name, "is %q, want an address such as https://example.org", value)
		}
	}
	if s.ModelGateway == "" {
		return
	}
	if host, port, err := net.SplitHostPort(s.ModelGateway); err != nil || net.ParseIP(host) == nil || port == "" {
		wrong("MODEL_GATEWAY", "is %q, want an IP address of this machine and a port, such as 127.0.0.1:0 for any free port",
			s.ModelGateway)
	}
	if !s.AnthropicKey.IsSet() && !s.OpenAIKey.IsSet() && !s.GeminiKey.IsSet() {
		wrong("MODEL_GATEWAY", "is set, and no key of a vendor: set %sANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY", Prefix)
	}
}

// openGateway makes the gateway of models; it serves when the service does.
func (v *Service) openGateway() (err error) {
	if v.Settings.ModelGateway != "" {
		v.Gateway, err = modelgateway.New(modelgateway.Options{Vendors: v.Settings.vendors(), Prices: v.Settings.AgentPrices, Log: v.Log})
	}
	return err
}

// links stand between agents and the network, and give them their secrets.
func (v *Service) links() (list []agentcli.Link) {
	if v.credentials != nil {
		list = append(list, v.credentials)
	}
	if v.Gateway != nil {
		list = append(list, v.Gateway)
	}
	if v.egress != nil {
		list = append(list, v.egress)
	}
	return list
}

// listenGateway serves agents at an address.
func (v *Service) listenGateway(ctx context.Context, address string) error {
	if v.Gateway == nil {
		return nil
	}
	if err := v.Gateway.Listen(ctx, address); err != nil {
		return err
	}
	v.Log.Info("serving models to agents", "address", v.Gateway.Address(), "vendors", v.Gateway.Vendors())
	return nil
}

// gateway examines whether the key of an agent's vendor is within its reach, and whether what it
// costs can be measured.
func (d *doctor) gateway(v *Service, prefix string, a work.Agent) {
	name, vendor := v.Agents.Identify(a)
	_, served := v.Settings.vendors()[vendor]
	switch {
	case vendor == "": // a command, which may call none
	case v.Gateway == nil || !slices.Contains(v.Gateway.Vendors(), vendor):
		how := "set " + Prefix + "MODEL_GATEWAY and the vendor's key: docs/agents.md#the-gateway-of-models"
		if !served {
			how = "the gateway does not serve this vendor"
		}
		d.warn(prefix, "the key of %s, or its login, is within the reach of the agent %s, and its costs are what it says: %s",
			vendor, name, how)
	case v.Gateway.Priced(vendor, toolOf(name), a.Model):
		d.ok(prefix, "the key of %s stays in the gateway of models, which measures what the agent %s costs", vendor, name)
	default:
		d.warn(prefix, "the gateway of models counts the tokens of the agent %s and has no price of %s: "+
			"give that of its model in %sAGENT_PRICES", name, vendor, Prefix)
	}
}

// toolOf is the tool that an agent's command begins with.
func toolOf(name string) string {
	tool, _, _ := strings.Cut(name, " ")
	return tool
}
