package app

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Values of ORCH_EGRESS.
const (
	egressOff  = "off"
	egressList = "allow-list"
)

// checkEgress reports what is wrong with the setting, by its name.
func (s Settings) checkEgress(wrong func(name, format string, args ...any)) {
	if !slices.Contains([]string{egressOff, egressList}, s.Egress) {
		wrong("EGRESS", "is %q, want off or allow-list", s.Egress)
	}
	if s.limitsEgress() && s.JailNetwork != "" {
		wrong("JAIL_NETWORK", "is %q, and with %sEGRESS=%s a container has no network but its proxy: unset one of them",
			s.JailNetwork, Prefix, egressList)
	}
	if s.limitsEgress() && s.ModelGateway != "" && !onLoopback(s.ModelGateway) {
		wrong("MODEL_GATEWAY", "is %q, want 127.0.0.1 and a port with %sEGRESS=%s: "+
			"no other address of this machine leads out of an agent's network", s.ModelGateway, Prefix, egressList)
	}
}

// onLoopback reports whether an address is of this machine alone.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host == "127.0.0.1"
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
