package projectfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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

// The built-in pipeline is read as it is printed, and a stage of a file's own has its row.
func TestPipeline(t *testing.T) {
	text, err := projectfile.FormatPipeline(stage.Default())
	require.NoError(t, err)
	again, err := projectfile.ParsePipeline("pipeline.yaml", text)
	require.NoError(t, err)
	require.Equal(t, stage.Default(), again)

	p, err := projectfile.ParsePipeline("pipeline.yaml", []byte(audited))
	require.NoError(t, err)
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
