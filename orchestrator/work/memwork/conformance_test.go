package memwork_test

import (
	"context"
	"maps"
	"testing"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/orchestrator/work/worktest"
)

func TestConformance(t *testing.T) {
	worktest.Run(t, func(t *testing.T) worktest.Fixture {
		p, s := memwork.New(nil), space()
		do := func(dir string, script func(files map[string]string) string) {
			p.SetScript(func(_ context.Context, _ work.Command, files map[string]string) work.Result {
				return work.Result{Kind: script(files)}
			})
			p.Run(t.Context(), work.Command{Dir: dir})
		}
		return worktest.Fixture{
			Spaces: p, Space: s,
			Agent: func(dir string, files map[string]string, commits bool) {
				do(dir, func(all map[string]string) string {
					maps.Copy(all, files)
					if commits {
						return work.ResultOK
					}
					return work.ResultFailed
				})
			},
			Look: func(dir, name string) (body string, ok bool) {
				do(dir, func(all map[string]string) string {
					body, ok = all[name]
					return work.ResultOK
				})
				return body, ok
			},
			Push: func(from string, files map[string]string) string {
				return p.PushAs("Ann Lee", s.Repo, s.Branch, from, files)
			},
			MoveMain: func() { p.SetRemote(s.Repo, s.Main, "m1") },
			Remote:   func(branch string) string { return p.Remote(s.Repo, branch) },
			Fail:     func(call string, how faulttest.Kind) { p.FailCall(call, faulttest.Error(how)) },
		}
	})
}
