package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
)

// Report is the front matter of an agent's report. Anything below it is prose.
type Report struct {
	Verdict string
	SHA     string
	Summary string
}

// reportMax bounds how much of a report is read, in bytes.
const reportMax = 1 << 20

// ErrNoReport says that the report file does not exist.
var ErrNoReport = errors.New("the report does not exist")

// ReadReport reads a report's front matter: lines "key: value" between two
// lines "---" at the beginning of the file. Quotes around a value are dropped,
// unknown keys are allowed.
func ReadReport(tree fs.FS, name string) (Report, error) {
	body, err := fs.ReadFile(tree, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Report{}, ErrNoReport
	case err != nil:
		return Report{}, err
	case len(body) > reportMax:
		return Report{}, fmt.Errorf("%s is larger than %d bytes", name, reportMax)
	}
	return parseReport(string(body))
}

func parseReport(text string) (Report, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	head, ok := strings.CutPrefix(strings.TrimLeft(text, "\n"), "---\n")
	if !ok {
		return Report{}, errors.New(`the report does not begin with front matter: a line "---"`)
	}
	head, _, ok = strings.Cut(head, "\n---")
	if !ok {
		return Report{}, errors.New(`the report's front matter does not end: a second line "---" is missing`)
	}
	var r Report
	fields := map[string]*string{"verdict": &r.Verdict, "sha": &r.SHA, "summary": &r.Summary}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(line, ":")
		if field := fields[strings.ToLower(strings.TrimSpace(key))]; field != nil {
			*field = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	r.Verdict, r.SHA = strings.ToLower(r.Verdict), strings.ToLower(r.SHA)
	switch {
	case r.Verdict == "":
		return r, errors.New("the report's front matter has no verdict")
	case r.SHA == "":
		return r, errors.New("the report's front matter has no sha")
	default:
		return r, nil
	}
}

// names reports whether the report is about one of the commits; an abbreviation
// of at least seven digits will do.
func (r Report) names(commits []string) bool {
	return len(r.SHA) >= 7 && slices.ContainsFunc(commits, func(c string) bool { return strings.HasPrefix(strings.ToLower(c), r.SHA) })
}

// words are the verdicts that a report may give.
type words struct{ good, bad []string }

// judgeReport judges a report against the commits that it may be about. There
// being none, or one about another commit, is not a verdict: defer.
func judgeReport(s gates.Subject, file string, commits []string, w words) gates.Verdict {
	if s.Tree == nil {
		return gates.Errorf("the files cannot be read: %v", errNoTree)
	}
	name := s.Task.Docs + "/" + file
	r, err := ReadReport(s.Tree, name)
	seen := gates.Evidence{Kind: "file", Name: name}
	switch {
	case errors.Is(err, ErrNoReport):
		seen.Note = "does not exist"
		return gates.Deferf("%s does not exist yet", file).With(seen)
	case err != nil:
		seen.Note = err.Error()
		return gates.Errorf("%s: %v", file, err).With(seen)
	}
	seen.Note = fmt.Sprintf("%s for %.12s: %s", r.Verdict, r.SHA, r.Summary)
	switch {
	case !r.names(commits):
		return gates.Deferf("%s is about %.12s, not about %.12s", file, r.SHA, last(commits)).With(seen)
	case slices.Contains(w.good, r.Verdict):
		seen.OK = true
		return gates.Greenf("%s says %s", file, r.Verdict).With(seen)
	case slices.Contains(w.bad, r.Verdict):
		return gates.Redf("%s says %s: %s", file, r.Verdict, summary(r)).With(seen)
	default:
		return gates.Errorf("%s says %q, want %s", file, r.Verdict, strings.Join(append(slices.Clone(w.good), w.bad...), " or ")).With(seen)
	}
}

func last(commits []string) string {
	if len(commits) == 0 {
		return "any commit"
	}
	return commits[0]
}

func summary(r Report) string {
	if r.Summary == "" {
		return "no summary was given"
	}
	return r.Summary
}

// heads are the commits that a report on the branch head may name.
func heads(s gates.Subject) []string {
	if len(s.SameCode) > 0 {
		return s.SameCode
	}
	return []string{s.SHA}
}

func testsPassed(_ context.Context, s gates.Subject) gates.Verdict {
	return judgeReport(s, "test-report.md", heads(s), words{[]string{"passed"}, []string{"failed"}})
}

func stagingStatus(_ context.Context, s gates.Subject) gates.Verdict {
	return judgeReport(s, "staging-report.md", heads(s), words{[]string{"success"}, []string{"failure", "failed"}})
}

func deployStatus(_ context.Context, s gates.Subject) gates.Verdict {
	if s.Deployed == "" {
		return gates.Deferf("nothing has been merged yet")
	}
	return judgeReport(s, "deploy-report.md", []string{s.Deployed}, words{[]string{"success"}, []string{"failure", "failed"}})
}

// reviewApproved takes the reviewer's file or the git host's reviews. An open
// request for changes on the head by a person outweighs both.
func reviewApproved(ctx context.Context, s gates.Subject) gates.Verdict {
	file := judgeReport(s, "review.md", heads(s), words{[]string{"approved"}, []string{"changes_requested", "rejected"}})
	host, err := standing(ctx, s)
	if err != nil {
		if file.Outcome == gates.Green || file.Outcome == gates.Red {
			return file.With(gates.Evidence{Kind: "review", Name: "git host", Note: err.Error()})
		}
		return unreachable("the reviews", err)
	}
	file = file.With(host.evidence...)
	switch {
	case host.objection != "":
		return gates.Redf("%s", host.objection).With(file.Evidence...)
	case file.Outcome == gates.Green || file.Outcome == gates.Red:
		return file
	case host.approval != "":
		return gates.Greenf("%s has approved the head", host.approval).With(file.Evidence...)
	default:
		return file
	}
}

// opinion is what the git host's reviews say of the head.
type opinion struct {
	approval, objection string
	evidence            []gates.Evidence
}

// standing sums up the newest review of each author on the head. Comments do
// not change an opinion.
func standing(ctx context.Context, s gates.Subject) (o opinion, err error) {
	if s.Reviews == nil {
		return o, nil
	}
	list, err := s.Reviews.Reviews(ctx, s.Task.Repo, s.Task.Branch)
	if err != nil {
		return o, err
	}
	newest := map[string]githost.Review{}
	var authors []string
	for _, r := range list {
		if r.State == githost.ReviewCommented || !slices.Contains(heads(s), r.SHA) {
			continue
		}
		if _, seen := newest[r.Author]; !seen {
			authors = append(authors, r.Author)
		}
		newest[r.Author] = r
	}
	for _, author := range authors {
		r := newest[author]
		o.evidence = append(o.evidence, gates.Evidence{Kind: "review", Name: author, Note: string(r.State), OK: r.State == githost.ReviewApproved})
		switch r.State {
		case githost.ReviewApproved:
			o.approval = author
		case githost.ReviewChangesRequested:
			o.objection = strings.TrimSuffix(author+" requests changes: "+strings.TrimSpace(r.Body), ": ")
		}
	}
	return o, nil
}
