package projectfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const audited = `stages:
  - analysis
  - architecture
  - development
  - {stage: review, gates: [check_review_approved, check_ci_green]}
  - stage: security
    role: auditor
    status: code_review
    report: security.md
    good: [clean]
    bad: [vulnerable]
    prompt: Look for holes in {{.Branch}}.
  - deploy
`

// pipelineOf parses a pipeline.
func pipelineOf(t *testing.T, text []byte) stage.Pipeline {
	t.Helper()
	p, err := projectfile.ParsePipeline("pipeline.yaml", text)
	require.NoError(t, err)
	return p
}

// The built-in pipeline is read as it is printed, and a stage of a file's own has its row.
func TestPipeline(t *testing.T) {
	text, err := projectfile.FormatPipeline(stage.Default())
	require.NoError(t, err)
	again := pipelineOf(t, text)
	require.Equal(t, stage.Default(), again)

	p := pipelineOf(t, []byte(audited))
	require.Equal(t, stage.Info{
		Stage: "security", Role: "auditor", Status: stage.StatusCodeReview, Gates: []string{"check_report"}, Green: "the auditor is content",
		Report: "security.md", Good: []string{"clean"}, Bad: []string{"vulnerable"}, Prompt: "Look for holes in {{.Branch}}.",
	}, p.Info("security"))
	require.Equal(t, []string{"check_review_approved", "check_ci_green"}, p.Info(stage.Review).Gates)
	require.Empty(t, p.Info(stage.Testing))
}

// What cannot be a pipeline is refused with its line and the way out.
func TestWrongPipelines(t *testing.T) {
	for text, want := range map[string]string{
		"stages: [analysis, development]":                                                       "p.yaml:1: development and deploy are missing",
		"stages:\n- development\n- analysis\n- deploy":                                          "stage analysis is the first, or is left out",
		"stages:\n- deploy\n- development":                                                      "stage deploy is the last, behind development",
		"stages:\n- development\n- review\n- review\n- deploy":                                  "stage review is there twice",
		"stages:\n- testing\n- development\n- deploy":                                           "stage testing: what comes before development writes documents",
		"stages:\n- development\n- architecture\n- deploy":                                      "stage architecture: what comes behind development judges: name its report",
		"stages:\n- development\n- {stage: audit, role: auditor, report: a.md}\n- deploy":       "p.yaml:3: stage audit: prompt is missing",
		"stages:\n- development\n- {stage: audit, role: tester, report: a.md}\n- deploy":        "stage audit: good or bad is empty",
		"stages:\n- development\n- {stage: audit, report: a.md, good: [a], bad: [b]}\n- deploy": "stage audit: role is \"\"",
		"stages:\n- development\n- {stage: Audit!, role: tester}\n- deploy":                     "want small letters",
		"stages:\n- development\n- {stage: review, status: approved}\n- deploy":                 "stage review: status is \"approved\", want a column that shows work",
		"stages:\n- development\n- {stage: review, gates: []}\n- deploy":                        "stage review: gates is empty",
		"stages:\n- development\n- {stage: review, prompt: \"{{.Nobody}}\"}\n- deploy":          "p.yaml:3: stage review: prompt: ",
		"stages:\n- development\n- {stage: review, report: ../a.md}\n- deploy":                  "stage review: \"../a.md\" is no name of a document",
		"stages:\n- development\n- {stage: review, good: [all right]}\n- deploy":                "stage review: \"all right\" is no verdict",
		"stages:\n- development\n- {stage: review, when: never}\n- deploy":                      "unknown field",
	} {
		_, err := projectfile.ParsePipeline("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

const laned = audited + "lanes:\n  fix: [development, review, deploy]\n  audit:\n    - development\n    - security\n    - deploy\n"

// Lanes are read as they are printed, by name.
func TestLanes(t *testing.T) {
	p := pipelineOf(t, []byte(laned))
	require.Equal(t, []stage.Lane{
		{Name: "audit", Stages: []stage.Stage{stage.Development, "security", stage.Deploy}},
		{Name: "fix", Stages: []stage.Stage{stage.Development, stage.Review, stage.Deploy}},
	}, p.Lanes)
	text, err := projectfile.FormatPipeline(p)
	require.NoError(t, err)
	again := pipelineOf(t, text)
	require.Equal(t, p.Lanes, again.Lanes)
	for _, text := range []string{"lanes:\n  fix: [development, review, deploy]\n", ""} { // a shell makes the file that pipeline is printed to
		only := pipelineOf(t, []byte(text))
		require.Equal(t, stage.Default().Edges, only.Edges)
	}
	for text, want := range map[string]string{
		audited + "lanes: {fix: [development, tests, deploy]}":             "p.yaml:14: lane fix: stages are [development tests deploy], want some of analysis, ",
		audited + "lanes:\n  a: [development, deploy]\n  b: [development]": "p.yaml:16: lane b: development and deploy are missing",
		audited + "lanes: {full: [development, deploy]}":                   `p.yaml:14: lane is "full", want small letters`,
		audited + "lanes: [fix]":                                           "p.yaml:14: sequence was used where mapping is expected",
		audited + "lanes: {fix: development}":                              "p.yaml:14: ",
	} {
		_, err := projectfile.ParsePipeline("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// A project chooses among the lanes of the pipeline beside it: by default, and by the labels of cards.
func TestLanesOfAProject(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(laned), 0o600))
	read := func(pipeline string) (task.Lanes, error) {
		text := "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP}\n" +
			"  - tracker_project: q\n    repo: acme/lib\n    clone_url: u\n    prefix: LIB\n    pipeline: " + pipeline + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "projects.yaml"), []byte(text), 0o600))
		r, err := projectfile.Load(filepath.Join(dir, "projects.yaml"))
		if err != nil {
			return task.Lanes{}, err
		}
		require.Empty(t, r.Projects.All()[0].Lanes.Of([]string{"fix"}), "the whole pipeline, where nothing is said")
		return r.Projects.All()[1].Lanes, nil
	}
	for _, c := range []struct {
		pipeline, labels, want string
	}{
		{"fix", "", "fix"},
		{"fix", "audit", "fix"},
		{"full", "fix", ""},
		{"{labels: {Bug: fix}}", "other", ""},
		{"{labels: {Bug: fix}}", "other,bUg", "fix"},
		{"{default: fix, labels: {big: full, SEC: audit}}", "", "fix"},
		{"{default: fix, labels: {big: full, SEC: audit}}", "sec,big", ""},
		{"{default: fix, labels: {SEC: audit, big: full}}", "big,sec", "audit"},
	} {
		lanes, err := read(c.pipeline)
		require.NoError(t, err, c.pipeline)
		require.Equal(t, c.want, lanes.Of(strings.Split(c.labels, ",")), "%v", c)
	}
	for pipeline, want := range map[string]string{
		"fast":                                `projects.yaml:7: project 2 (acme/lib): pipeline: there is no lane "fast", want full or audit or fix`,
		"{default: fast}":                     `there is no lane "fast"`,
		"{default: fix, labels: {bug: fast}}": `there is no lane "fast"`,
		"{lables: {bug: fix}}":                "pipeline: want the name of a lane such as fix, or {default: full, labels: {bug: fix}}",
		"[fix]":                               "projects.yaml:7: pipeline: want the name of a lane",
	} {
		_, err := read(pipeline)
		require.ErrorContains(t, err, want, pipeline)
	}
}

// The registry names roles and stages of the pipeline beside it, and no others.
func TestRegistryOfAPipeline(t *testing.T) {
	dir := t.TempDir()
	registry := filepath.Join(dir, "projects.yaml")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("projects.yaml", "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP, agents: {auditor: claude}, gates: {security: [check_ci_green]}}\n")
	_, err := projectfile.Load(registry)
	require.ErrorContains(t, err, `there is no role "auditor"`)
	write("pipeline.yaml", audited)
	r, err := projectfile.Load(registry)
	require.NoError(t, err)
	require.Equal(t, stage.Role("auditor"), r.Pipeline.Info("security").Role)
	require.False(t, r.Projects.All()[0].Deploy.None)
	write("projects.yaml", "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP, deploy: none}\n")
	r, err = projectfile.Load(registry)
	require.NoError(t, err)
	require.True(t, r.Projects.All()[0].Deploy.None)
	write("projects.yaml", "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP, agents: {tester: claude}}\n")
	_, err = projectfile.Load(registry)
	require.ErrorContains(t, err, `there is no role "tester"`)
}
