package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// egressList is the value of ORCH_EGRESS that limits where executions go.
const egressList = "allow-list"

// GatewaySettings are those of the gateway of models.
type GatewaySettings struct {
	AgentPrices  prices        `env:"AGENT_PRICES" doc:"of models whose agents report no cost, or of such agents by name (codex), in dollars for a million tokens: model=input/output/cache read/cache write,…"`
	ModelGateway string        `env:"MODEL_GATEWAY" doc:"address at which agents call models with a token of their run in the place of a key, such as 127.0.0.1:0 (any free port): their costs are measured; unset: they call the vendors themselves"`
	AnthropicKey secret.String `env:"ANTHROPIC_API_KEY" doc:"Anthropic's key, for the gateway; unset: it does not serve Anthropic's models"`
	OpenAIKey    secret.String `env:"OPENAI_API_KEY" doc:"the same of OpenAI"`
	GeminiKey    secret.String `env:"GEMINI_API_KEY" doc:"the same of Google's Gemini API"`

	AnthropicURL string `env:"ANTHROPIC_URL" form:"url" doc:"address of Anthropic's API for the gateway; unset: https://api.anthropic.com"`
	OpenAIURL    string `env:"OPENAI_URL" form:"url" doc:"without /v1; unset: https://api.openai.com"`
	GeminiURL    string `env:"GEMINI_URL" form:"url" doc:"unset: https://generativelanguage.googleapis.com"`
}

// checkEgress reports what is wrong with the setting, by its name.
func (s Settings) checkEgress(wrong func(name, format string, args ...any)) {
	if s.limitsEgress() && s.JailNetwork != "" {
		wrong("JAIL_NETWORK", "is %q, and with %sEGRESS=%s a container has no network but its proxy: unset one of them",
			s.JailNetwork, Prefix, egressList)
	}
	gateway, _, _ := net.SplitHostPort(s.ModelGateway) // empty where it has no port
	if s.limitsEgress() && s.ModelGateway != "" && gateway != "127.0.0.1" {
		wrong("MODEL_GATEWAY", "is %q, want 127.0.0.1 and a port with %sEGRESS=%s: "+
			"no other address of this machine leads out of an agent's network", s.ModelGateway, Prefix, egressList)
	}
}

func (s Settings) limitsEgress() bool { return s.Egress == egressList }

// limited is a jail of a kind, which leaves a proxy as the only way out where the settings say
// so. Without a network of its own an execution may then connect to no port but its proxy's.
func (s Settings) limited(j work.Jail, kind string) work.Jail {
	if !s.limitsEgress() {
		return j
	}
	if j.Proxied = true; kind == jailLandlock {
		j.Ports = nil
	}
	return j
}

// egress says what keeps executions from going out another way.
func (c confinement) egress(s Settings) string {
	switch {
	case !s.limitsEgress():
		return "egress is not limited (" + Prefix + "EGRESS=off): " + Prefix + "JAIL_PORTS at any address"
	case c.jail == nil:
		return "egress: nothing enforces the allow-list: the proxy is in the environment, and may be left out"
	case c.jail.Alone():
		return "egress: the allow-list's proxy is the only way out, of a network of its own"
	default:
		return "egress: the allow-list's proxy is the only way out but for its port number, " +
			"which is open by TCP at every other address too; no UDP, and no connection to servers that a test starts"
	}
}

// openEgress makes what opens a proxy for each execution; nil: they are not limited.
func (v *Service) openEgress(projects *task.Projects) *egress.Link {
	if !v.Settings.limitsEgress() {
		return nil
	}
	return &egress.Link{
		Allowed: func(repo string, role stage.Role) []string {
			p, _ := projects.ByRepo(repo) // of one that has left the registry, the default
			return p.EgressOf(role)
		},
		Served:  func(vendor string) bool { return v.Gateway != nil && slices.Contains(v.Gateway.Vendors(), vendor) },
		Pass:    v.gatewayPorts,
		Options: egress.Options{Log: v.Log},
	}
}

// gatewayPorts is where agents reach the gateway of models, if there is one.
func (v *Service) gatewayPorts() []uint16 {
	if v.Gateway == nil {
		return nil
	}
	at, err := netip.ParseAddrPort(v.Gateway.Address())
	if err != nil {
		return nil // it does not serve yet
	}
	return []uint16{at.Port()}
}

// connect opens the network to checks and hooks; nil: they have what the jail leaves.
func (v *Service) connect() gitcli.Connect {
	if v.egress == nil {
		return nil
	}
	return func(ctx context.Context, repo string) (gitcli.Connection, error) {
		way, err := v.egress.Check(ctx, repo, v.walls.jail)
		if err != nil {
			return gitcli.Connection{}, err
		}
		c := gitcli.Connection{Jail: way.Jail, Close: func() []work.Refusal {
			refused, err := way.Close()
			if err != nil {
				v.Log.Warn("the way out of a check was not closed", "repo", repo, "err", err)
			}
			return refused
		}}
		for name, value := range way.Env {
			c.Env = append(c.Env, name+"="+value)
		}
		return c, nil
	}
}

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
		d.of(prefix).Warn("the key of %s, or its login, is within the reach of the agent %s, and its costs are what it says: %s",
			vendor, name, how)
	case v.Gateway.Priced(vendor, strings.SplitN(name, " ", 2)[0], a.Model):
		d.of(prefix).OK("the key of %s stays in the gateway of models, which measures what the agent %s costs", vendor, name)
	default:
		d.of(prefix).Warn("the gateway of models counts the tokens of the agent %s and has no price of %s: "+
			"give that of its model in %sAGENT_PRICES", name, vendor, Prefix)
	}
}

// prices are those of models, and of agents that name no model.
type prices map[string]agentcli.Price

// UnmarshalText reads model=input/output/cache read/cache write.
func (p *prices) UnmarshalText(text []byte) error {
	*p = prices{}
	for one := range strings.SplitSeq(string(text), ",") {
		model, list, _ := strings.Cut(strings.TrimSpace(one), "=")
		parts := strings.Split(list, "/")
		var d [4]work.Dollars
		wrong := model == "" || len(parts) != len(d)
		for i := 0; !wrong && i < len(d); i++ {
			wrong = d[i].UnmarshalText([]byte(parts[i])) != nil
		}
		if wrong {
			return fmt.Errorf("%q, want model=input/output/cache read/cache write in dollars for a million tokens, "+
				"such as gpt-5=1.25/10/0.125/0, or an agent's name for all that it uses, such as codex=1.25/10/0.125/0", one)
		}
		(*p)[model] = agentcli.Price{Input: int64(d[0]), Output: int64(d[1]), CacheRead: int64(d[2]), CacheCreate: int64(d[3])}
	}
	return nil
}

// priceOf computes the cost of a run that reported none of its own.
func (s Settings) priceOf(r task.AgentRun) (microUSD int64, known bool) {
	p, known := agentcli.PriceOf(s.AgentPrices, r.Usage.Model, r.Agent)
	return p.Cost(r.Usage), known
}
