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
	t.Setenv("ORCH_EGRESS", "allow-list")
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
	walls := func() map[attack.Wall]string {
		out := map[attack.Wall]string{}
		for _, w := range r.Walls {
			require.NotEmpty(t, w.Why, w.Wall)
			out[attack.Wall(w.Wall)] = w.State
		}
		return out
	}
	require.Equal(t, []string{"held", "held", "held", "not here"}, []string{
		walls()[attack.Files], walls()[attack.Seccomp], walls()["keys in the gateway of models"], walls()[attack.Namespaces],
	})
	left, err := os.ReadDir(os.Getenv("ORCH_DATA_DIR"))
	require.NoError(t, err)
	for _, one := range left {
		require.NotContains(t, one.Name(), "attack-")
	}

	egress := func(is string) {
		require.Len(t, r.Attacks, len(attack.All())+len(attack.OnEgress()))
		require.Contains(t, r.Posture.Egress, is)
		require.Equal(t, "held", walls()[attack.Proxy])
		for _, a := range r.Attacks[len(attack.All()):] {
			require.Equal(t, []string{"refused", "egress"}, []string{a.Result, string(a.Wall)}, a)
		}
	}
	egress("open by TCP at every other address")
	if _, err := exec.LookPath("bwrap"); err != nil {
		fmt.Println("jail: bwrap, egress: SKIPPED: bubblewrap is not installed")
	} else {
		t.Setenv("ORCH_JAIL", "bwrap")
		code, r, out = report()
		require.Zero(t, code, out)
		egress("a network of its own")
		require.Equal(t, "held", walls()[attack.Namespaces])
	}

	t.Setenv("ORCH_JAIL", "none")
	t.Setenv("ORCH_EGRESS", "")
	code, r, _ = report()
	require.Equal(t, 1, code)
	require.Greater(t, r.Succeeded, 40)
	require.NotContains(t, []string{walls()[attack.Files], walls()[attack.Seccomp], walls()[attack.Namespaces], walls()[attack.Proxy]}, "held")
	code, out = server("doctor", "security")
	require.Equal(t, 1, code)
	require.Contains(t, out, "ORCH_JAIL=none: AGENTS ARE NOT CONFINED")
	if os.Getuid() == 0 {
		require.NotContains(t, out, "SUCCEEDED", "root makes no attack without a jail")
	}
}
