package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
)

// The attacks are made as agents of this machine would make them: in the jail each is
// refused, without one hardly any.
func TestDoctorSecurity(t *testing.T) {
	environment(t)
	t.Setenv("ORCH_JAIL", "landlock")
	t.Setenv("ORCH_MODEL_GATEWAY", "127.0.0.1:0")
	t.Setenv("ORCH_OPENAI_API_KEY", "k")
	put(t, "tokens", os.Getenv("ORCH_DATA_DIR"), "signalbox.db")
	report := func() (code int, r app.SecurityReport, out string) {
		code, out = server("doctor", "security", "--json")
		require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&r), out)
		return code, r, out
	}
	code, r, out := report()
	require.Zero(t, code, out)
	require.Len(t, r.Attacks, len(attack.All()))
	require.Zero(t, r.Succeeded)
	require.Equal(t, "landlock", r.Posture.Jail)
	require.True(t, r.Posture.Seccomp && r.Posture.NoNewPrivs)
	require.Equal(t, []string{"openai"}, r.Posture.Gateway)
	refused := map[string]attack.Wall{}
	for _, a := range r.Attacks {
		if a.Result == "refused" {
			refused[a.Attack] = a.Wall
		}
	}
	require.Greater(t, len(refused), 60)
	require.Equal(t, attack.TCP, refused["connect to the ports of this service"])
	require.Equal(t, attack.Files, refused["open the database of this service"])
	walls := func() map[string]string {
		out := map[string]string{}
		for _, w := range r.Walls {
			require.NotEmpty(t, w.Why, w.Wall)
			out[w.Wall] = w.State
		}
		return out
	}
	require.Equal(t, []string{"held", "held", "held", "not here", "not here"}, []string{
		walls()[string(attack.Files)], walls()[string(attack.Seccomp)], walls()["keys in the gateway of models"], walls()[string(attack.Namespaces)], walls()[string(attack.Proxy)],
	})
	left, err := os.ReadDir(os.Getenv("ORCH_DATA_DIR"))
	require.NoError(t, err)
	for _, one := range left {
		require.NotContains(t, one.Name(), "attack-")
	}

	for _, kind := range []string{"landlock", "bwrap"} {
		if _, err := exec.LookPath("bwrap"); kind == "bwrap" && err != nil {
			fmt.Println("jail: bwrap, egress: SKIPPED: bubblewrap is not installed")
			continue
		}
		t.Setenv("ORCH_JAIL", kind)
		t.Setenv("ORCH_EGRESS", "allow-list")
		code, r, out = report()
		require.Zero(t, code, out)
		require.Len(t, r.Attacks, len(attack.All())+len(attack.OnEgress()))
		require.Contains(t, r.Posture.Egress, map[string]string{"landlock": "open by TCP at every other address", "bwrap": "a network of its own"}[kind])
		require.Equal(t, "held", walls()[string(attack.Proxy)])
		require.Equal(t, map[string]string{"landlock": "not here", "bwrap": "held"}[kind], walls()[string(attack.Namespaces)])
		for _, a := range r.Attacks[len(attack.All()):] {
			require.Equal(t, []string{"refused", "egress"}, []string{a.Result, string(a.Wall)}, a)
		}
	}

	t.Setenv("ORCH_JAIL", "none")
	code, r, _ = report()
	require.Equal(t, 1, code)
	require.Greater(t, r.Succeeded, 40)
	require.NotContains(t, []string{walls()[string(attack.Files)], walls()[string(attack.Seccomp)], walls()[string(attack.Namespaces)]}, "held")
	code, out = server("doctor", "security")
	require.Equal(t, 1, code)
	require.Contains(t, out, "ORCH_JAIL=none: AGENTS ARE NOT CONFINED")
	if os.Getuid() == 0 {
		require.NotContains(t, out, "SUCCEEDED", "root makes no attack without a jail")
	}
}
