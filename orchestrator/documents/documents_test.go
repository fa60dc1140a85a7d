package documents_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const hidden = "hunter2-is-a-long-password"

// read runs a test on a card whose analyst writes what it likes, and whose developer the rest.
func read(t *testing.T, written map[string]string, test func(r *Rig, item string, d documents.Reader)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := GoodAgent(ctx, c, files)
			for name, body := range written {
				if own := strings.HasPrefix(name, "DOCS/"); own && c.Role == stage.Analyst || !own && c.Role == stage.Developer {
					files[strings.Replace(name, "DOCS", c.Env["SIGNALBOX_DOCS"], 1)] = body
				}
			}
			return result
		})
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		if written["src/a.go"] != "" {
			r.Set(item, stage.StatusApproved)
			r.Settle(time.Minute)
		}
		by := &secret.Redactor{}
		by.Hide(hidden)
		test(r, item, documents.Reader{Engine: r.Engine, Redactor: by})
	})
}

func names(list documents.List) (out []string) {
	for _, d := range list.Documents {
		out = append(out, d.Name+" "+string(d.Stage))
	}
	return out
}

// A person reads what is asked for, and nothing but the documents of the task's own directory.
func TestOwnDocumentsOnly(t *testing.T) {
	read(t, map[string]string{
		"DOCS/requirements.md": "# Wanted\r\n\x1b[31mred\x1b[0m \u202eevil " + hidden + "\n", "DOCS/notes.txt": "n", "DOCS/sub/x.md": "deep", "DOCS/-rf": "option", "DOCS/a\nb.md": "odd",
		"docs/work/OTHER-1/requirements.md": "of another task", "secret.md": "not a document", "src/a.go": "package a\n",
	}, func(r *Rig, item string, d documents.Reader) {
		ctx, task := context.Background(), r.Task(item)
		list, err := d.List(ctx, task, "")
		require.NoError(r, err)
		require.Equal(r, []string{"requirements.md analysis", "acceptance.md analysis", "design.md architecture", "review.md review", "test-report.md testing", "staging-report.md deploy-staging", "deploy-report.md deploy", "notes.txt ", "request.md "}, names(list))
		require.Equal(r, task.State.Head, list.Commit)
		text, err := d.Read(ctx, task, "requirements", "")
		require.NoError(r, err)
		require.Equal(r, "# Wanted\nred evil **************************\n", text.Text)
		require.Equal(r, task.State.Head, text.Commit)
		for _, name := range []string{"", ".", "..", "../OTHER-1/requirements.md", "sub/x.md", "sub", "-rf", "a\nb.md", "/etc/passwd", "secret.md", "requirements.md\x00"} {
			_, err := d.Read(ctx, task, name, "")
			var none *documents.NotFoundError
			require.ErrorAs(r, err, &none, "%q", name)
			require.Contains(r, none.Text, "there are: requirements.md, acceptance.md, design.md, review.md")
		}
	})
}

// What was read stays readable: at the commit that was judged, whatever has come since, and nothing
// is fetched for a commit that the task has never had.
func TestAtACommit(t *testing.T) {
	read(t, map[string]string{"DOCS/requirements.md": "the first"}, func(r *Rig, item string, d documents.Reader) {
		ctx, first := context.Background(), r.Task(item).State.Head
		r.Place.SetScript(GoodAgent)
		require.NoError(r, admin.Decide(ctx, r.Engine, r.Task(item).ID, admin.Word{On: stage.OnRejected, Why: "more"}, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		task := r.Task(item)
		require.NotEqual(r, first, task.State.Head)
		text, err := d.Read(ctx, task, "requirements.md", first)
		require.NoError(r, err)
		require.Equal(r, []string{"the first", first}, []string{text.Text, text.Commit})
		now, err := d.Read(ctx, task, "requirements.md", "")
		require.NoError(r, err)
		require.NotEqual(r, text.Text, now.Text)
		for _, commit := range []string{strings.Repeat("0", 40), "main", "--help", first[:12]} {
			_, err := d.Diff(ctx, task, commit)
			var none *documents.NotFoundError
			require.ErrorAs(r, err, &none, commit)
		}
		require.NoError(r, admin.Stop(ctx, r.Engine, task.ID, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		ended, err := r.Store.Task(ctx, task.ID)
		require.NoError(r, err)
		_, err = d.Read(ctx, ended, "requirements.md", "")
		require.NoError(r, err, "the documents of a cancelled task are kept")
	})
}

// What the branch changes is shown, and what of it a person has to see.
func TestDiffMarksProtectedPaths(t *testing.T) {
	read(t, map[string]string{".github/workflows/ci.yml": "on: " + hidden + "\n", "src/a.go": "package \u202ea\n"}, func(r *Rig, item string, d documents.Reader) {
		diff, err := d.Diff(context.Background(), r.Task(item), "")
		require.NoError(r, err)
		marked := map[string]bool{}
		for _, f := range diff.Files {
			marked[f.Path] = f.Protected
			require.NotContains(r, f.Text, hidden)
			require.NotContains(r, f.Text, "\u202e")
		}
		require.Equal(r, true, marked[".github/workflows/ci.yml"])
		require.Contains(r, marked, "src/a.go")
		require.False(r, marked["src/a.go"])
		require.Equal(r, "main", diff.Main)
		require.NotEmpty(r, diff.Base)
	})
}
