package checks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/gates/gatestest"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

func registry(t *testing.T, more ...gates.Gate) *gates.Registry {
	t.Helper()
	r, err := gates.NewRegistry(append(checks.All(nil), more...)...)
	require.NoError(t, err)
	return r
}

func TestFixtures(t *testing.T) {
	gatestest.Run(t, registry(t, checks.Command("licences", "./bin/licences", "--strict")), os.DirFS("testdata"), "*.json")
}

// Every gate that the built-in pipeline names is there.
func TestPipelineGates(t *testing.T) {
	r := registry(t)
	for _, name := range stage.Default().Gates() {
		require.True(t, r.Has(name), name)
	}
}

func TestTitleMaxIsReadAtEachCall(t *testing.T) {
	value := ""
	r, err := gates.NewRegistry(checks.All(func(name string) string {
		require.Equal(t, "ORCH_QG0_TITLE_MAX", name)
		return value
	})...)
	require.NoError(t, err)
	s := gates.Facts{Task: gates.Task{Title: strings.Repeat("ж", 150), Description: "d"}}
	for _, c := range []struct {
		value string
		want  gates.Outcome
	}{{"", gates.Green}, {"149", gates.Red}, {" 150 ", gates.Green}, {"abc", gates.Green}, {"0", gates.Green}, {"-4", gates.Green}, {"1e3", gates.Green}} {
		value = c.value
		require.Equal(t, c.want, r.Judge(t.Context(), s, checks.QG0).Outcome, "%q", c.value)
	}
	s.Task.Title = strings.Repeat("ж", 201)
	value = "nonsense"
	v := r.Judge(t.Context(), s, checks.QG0)
	require.Equal(t, gates.Red, v.Outcome)
	require.Contains(t, v.Reason, "the limit is 200")
}

func TestStripMarkup(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"plain":                             "plain",
		"<p>a</p>":                          "a",
		"a < b and c > d":                   "a < b and c > d",
		"1 &lt; 2":                          "1 < 2",
		"<img src=x>":                       "",
		"&nbsp;<br>\u200b":                  "",
		"<unclosed":                         "<unclosed",
		"<b>x</b><!-- c -->":                "x",
		"<a href='x'>link</a> \u202eevil":   "link  \u202eevil",
		strings.Repeat("<", 1000):           strings.Repeat("<", 1000),
		"<p>" + strings.Repeat("a", 10_000): strings.Repeat("a", 10_000),
	} {
		require.Equal(t, want, checks.StripMarkup(in), "%.40q", in)
	}
}

type failing struct{ err error }

func (f failing) Checks(context.Context, string, string, string) ([]githost.Check, error) {
	return nil, f.err
}
func (f failing) Reviews(context.Context, string, string, string) ([]githost.Review, error) {
	return nil, f.err
}

// A source that does not answer is an error; one that may come back says so.
func TestUnreachable(t *testing.T) {
	r := registry(t, checks.Command("cmd", "x"))
	for _, retryable := range []bool{true, false} {
		err := error(&fault.Error{Text: "no answer", Again: retryable, Wait: time.Minute})
		s := gates.Facts{SHA: "abcdefabcdef", CI: failing{err}, Reviews: failing{err}, Commands: gates.StaticCommands{Err: err}, Tree: fstest.MapFS{}}
		for _, name := range []string{checks.CIGreen, checks.ReviewApproved, "cmd"} {
			v := r.Judge(t.Context(), s, name)
			require.Equal(t, gates.Error, v.Outcome, name)
			require.Equal(t, retryable, v.Retryable, name)
			require.Equal(t, fault.After(err), v.RetryAfter, "the moment that the source has named")
		}
	}
}

// The reviewer's report decides when the host cannot be reached.
func TestReviewWithoutHost(t *testing.T) {
	s := gates.Facts{
		SHA: "abcdefabcdef", Reviews: failing{errors.New("down")}, Task: gates.Task{Docs: "d"},
		Filed: stage.Filed{Role: stage.Reviewer, Run: 4, Verdict: "approved", SHA: "abcdefabcdef"},
	}
	require.Equal(t, gates.Green, registry(t).Judge(t.Context(), s, checks.ReviewApproved).Outcome)
}

func TestNoTree(t *testing.T) {
	for _, name := range []string{checks.AnalysisReady, checks.AnalysisApproved, checks.ArchitectureReady} {
		require.Equal(t, gates.Error, registry(t).Judge(t.Context(), gates.Facts{}, name).Outcome, name)
	}
}

type brokenFS struct{}

func (brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("bad object")}
}

func TestUnreadableTree(t *testing.T) {
	for _, name := range []string{checks.AnalysisReady, checks.AnalysisApproved, checks.ArchitectureReady} {
		v := registry(t).Judge(t.Context(), gates.Facts{Tree: brokenFS{}, SHA: "abcdefabcdef"}, name)
		require.Equal(t, gates.Error, v.Outcome, name)
		require.Contains(t, v.Reason, "bad object")
	}
}

// A gate is judged on facts that exist only in the test.
func Example() {
	r, _ := gates.NewRegistry(checks.All(nil)...)
	v := r.Judge(context.Background(), gates.Facts{
		SHA:   "0badc0ffee00",
		Task:  gates.Task{Docs: "docs/work/APP-7"},
		Filed: gates.ParseReport(stage.Tester, 6, "---\nverdict: failed\nsha: 0badc0ffee00\nsummary: the map stays grey\n---\n"),
	}, checks.TestsPassed)
	_ = gates.Print(os.Stdout, v)
	fmt.Println(v.Passed())
	// Output:
	// red   check_tests_passed: the tester's report says failed: the map stays grey
	//       - report the tester's, run 6: failed for 0badc0ffee00: the map stays grey, by run/6 (outbox), at 0badc0ffee00
	// false
}

// byCommit is a CI that has results of some commits.
type byCommit map[string][]githost.Check

func (c byCommit) Checks(_ context.Context, _, _, sha string) ([]githost.Check, error) {
	return c[sha], nil
}

// A CI that skips commits of documents never reports on a head of documents: at
// the gates behind development the newest commit with the same code speaks for it.
func TestSameCodeCI(t *testing.T) {
	r := registry(t)
	passed := []githost.Check{{Name: "build", State: githost.CheckPassed, Kind: "check_run"}}
	failed := []githost.Check{{Name: "build", State: githost.CheckFailed, Kind: "check_run"}}
	s := gates.Facts{
		Task: gates.Task{Repo: "acme/app"}, SHA: "docs2", SameCode: []string{"docs2", "docs1", "code"}, Stage: stage.DeployStaging,
		CI: byCommit{"code": passed, "older": failed}, Tree: fstest.MapFS{".github/workflows/ci.yml": {Data: []byte("on: push")}},
	}
	require.Equal(t, gates.Green, r.Judge(t.Context(), s, checks.CIGreen).Outcome)
	s.CI = byCommit{"docs1": failed, "code": passed}
	require.Equal(t, gates.Red, r.Judge(t.Context(), s, checks.CIGreen).Outcome, "the newest that has results")
	s.CI = byCommit{"docs2": failed, "code": passed}
	require.Equal(t, gates.Red, r.Judge(t.Context(), s, checks.CIGreen).Outcome, "the head's own come first")
	s.CI = byCommit{"other": passed}
	require.Equal(t, gates.Defer, r.Judge(t.Context(), s, checks.CIGreen).Outcome)
	expected := githost.Check{Name: "build", State: githost.CheckExpected, Kind: "required", Note: "demanded"}
	other := githost.Check{Name: "e2e", State: githost.CheckExpected, Kind: "required", Note: "demanded"}
	preview := githost.Check{Name: "Vercel", State: githost.CheckPassed, Kind: "status"}
	for what, c := range map[string]struct {
		head []githost.Check
		want gates.Outcome
	}{
		"what is only expected was not reported": {[]githost.Check{expected}, gates.Green}, "nobody else has it": {[]githost.Check{expected, other}, gates.Defer},
		"another app reports on documents too": {[]githost.Check{preview, expected}, gates.Green},
		"and fails on them":                    {[]githost.Check{{Name: "Vercel", State: githost.CheckFailed, Kind: "status"}, expected}, gates.Red},
		"the workflow has begun":               {[]githost.Check{{Name: "GitHub Actions", State: githost.CheckExpected, Kind: "check_suite"}}, gates.Defer},
	} {
		for _, at := range []stage.Stage{stage.Review, stage.DeployStaging, stage.Deploy} {
			s.CI, s.Stage = byCommit{"docs2": c.head, "code": passed}, at
			require.Equal(t, c.want, r.Judge(t.Context(), s, checks.CIGreen).Outcome, "%s at %s", what, at)
		}
	}
	s.CI, s.Stage = byCommit{"code": passed}, stage.Development
	require.Equal(t, gates.Defer, r.Judge(t.Context(), s, checks.CIGreen).Outcome)
}
