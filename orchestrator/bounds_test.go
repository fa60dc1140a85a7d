package orchestrator_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A text of any length is no reason why an agent cannot be started: what it gets fits
// into the arguments and the environment of a process.
func TestLongTextsFit(t *testing.T) {
	reason := strings.Repeat("long ", 36<<10)
	for name, text := range map[string]string{"words": "Begin. " + reason, "lines": "Begin. " + strings.Repeat("\n", 180<<10), "signs": "Begin. " + strings.Repeat("长", 60<<10), "NUL": "Begin. \x00"} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) {
				r.Projects[0].Prompts = map[stage.Role]string{stage.Analyst: strings.Repeat("x", prompt.Max)}
			}, func(r *Rig) {
				item := r.Begin("x")
				r.Settle(10 * time.Second)
				for range 10 {
					r.Board.Say(item, "kim", text)
				}
				r.Set(item, stage.StatusRejected)
				r.Settle(10 * time.Second)
				got := r.Place.Runs()[1]
				require.True(r, strings.Contains(got.Prompt, "    Begin. "))
				require.True(r, strings.HasPrefix(got.Env["SIGNALBOX_FEEDBACK"], "Begin. "))
				require.Equal(r, name != "NUL", strings.Contains(got.Prompt, "What follows was left out"))
				cmd := exec.Command("/bin/true", got.Prompt) //nolint:noctx // it ends at once
				for name, value := range got.Env {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				require.NoError(r, cmd.Run())
			})
		})
	}
}
