package checks

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// NoChange is the file of a task in which a developer reports why nothing is to be done.
const NoChange = "no-change.md"

// workDone judges whether the branch changes more against main than the task's own documents. The
// developer is sent back for it once; then, or when it reports that nothing is to be done, a
// person confirms that of the commit.
func workDone(ctx context.Context, s gates.Facts) gates.Verdict {
	if s.Changes == nil || s.SHA == "" {
		return gates.Errorf("what the branch changes cannot be read: %v", errNoTree)
	}
	changed, err := s.Changes.Changed(ctx, "", []string{"**"})
	if err != nil {
		return unreachable("what the branch changes", err)
	}
	if i := slices.IndexFunc(changed, func(name string) bool { return !strings.HasPrefix(name, s.Task.Docs+"/") }); i >= 0 {
		return gates.Greenf("work is done at %.12s", s.SHA).With(gates.Evidence{Kind: "file", Name: changed[i], Note: "changed", OK: true})
	}
	if slices.Contains(heads(s), s.Vouched.SHA) {
		return gates.Greenf("a person confirms that nothing is to be done").With(vouched(s))
	}
	v := gates.Redf("no work is done: %.12s changes nothing against %s but documents in %s; "+
		"change what the design describes, or report in %s/%s why nothing is to be done",
		s.SHA, s.Task.Main, s.Task.Docs, s.Task.Docs, NoChange)
	v.Asks = s.Retries > 0
	if s.Tree != nil {
		body, _ := fs.ReadFile(s.Tree, s.Task.Docs+"/"+NoChange) // what cannot be read is no report
		if why := strings.TrimSpace(string(body)); why != "" {
			v.Asks, v.Reason = true, "the developer reports that nothing is to be done: "+why
		}
	}
	v.Empty = v.Asks
	return v.With(gates.Evidence{Kind: "commit", Name: s.SHA, Note: "changes nothing outside " + s.Task.Docs})
}

// vouched is the word of the person who stands for a commit.
func vouched(s gates.Facts) gates.Evidence {
	return gates.Evidence{Kind: "approval", Name: s.Vouched.SHA, OK: true, Provenance: stage.Provenance(s.Vouched)}
}
