package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/jail/attack"
)

// States of a wall.
const (
	wallHeld   = "held"
	wallBroken = "NOT HELD"
	wallAbsent = "not here"
)

// Standing is whether a wall of SECURITY.md stands on this machine.
type Standing struct {
	Wall  string `json:"wall"`
	State string `json:"state"` // held, NOT HELD or not here
	Why   string `json:"why"`
}

// standings judges each wall by what its attacks have come to, and where there are none by what was found at the start.
func (r SecurityReport) standings(c confinement, limited bool) (out []Standing) {
	add := func(wall, state, why string) { out = append(out, Standing{wall, state, why}) }
	missing := cmp.Or(strings.Join(c.Without, "; "), "ORCH_JAIL="+c.kind())
	for _, wall := range []attack.Wall{
		attack.Files, attack.TCP, attack.Scopes, attack.Seccomp, attack.Privileges, attack.Limits, attack.Namespaces, attack.Proxy,
	} {
		results, passed := map[string]int{}, []string(nil)
		for _, a := range r.Attacks {
			if a.aims == wall {
				if results[a.Result]++; a.Result == attackSucceeded {
					passed = append(passed, a.Attack)
				}
			}
		}
		switch {
		case wall == attack.Proxy && !limited:
			add(string(wall), wallAbsent, r.Posture.Egress)
		case len(passed) > 0:
			add(string(wall), wallBroken, strings.Join(passed, "; "))
		case c.jail == nil:
			add(string(wall), wallAbsent, "ORCH_JAIL=none")
		case results[attackSeen] > 0:
			add(string(wall), wallAbsent, missing)
		default:
			add(string(wall), wallHeld, fmt.Sprintf("%d attacks refused", results[attackRefused]))
		}
	}
	held := func(wall string, held bool, why, otherwise string) {
		if held {
			add(wall, wallHeld, why)
		} else {
			add(wall, wallAbsent, otherwise)
		}
	}
	held("cgroup", c.Cgroup != "", c.Cgroup, "none is delegated, or ORCH_JAIL_CGROUP=none")
	keys := r.Posture.Gateway
	held("keys in the gateway of models", len(keys) > 0, strings.Join(keys, ", "), "ORCH_MODEL_GATEWAY is not set, or no vendor's key")
	held("memory of the service", !r.Posture.Dumpable, "others of the user cannot read it", "others of the user can read it")
	return out
}
