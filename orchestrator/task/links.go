package task

import (
	"cmp"

	"github.com/signalbox-dev/signalbox/githost"
)

// Links to a repository name a commit: a branch moves on, and is removed in the end.

// FileURL is the page of a file of a task's directory at a commit; empty when the
// repository has no pages, or there is no commit.
func (p Project) FileURL(workItemID, sha, name string) string {
	return githost.Page(p.WebURL, p.pages().File, sha, p.Docs(workItemID)+"/"+name)
}

// DocsURL is the page of a task's directory at a commit; empty as FileURL is.
func (p Project) DocsURL(workItemID, sha string) string {
	return githost.Page(p.WebURL, p.pages().Directory, sha, p.Docs(workItemID))
}

// CommitURL is the page of a commit; empty as FileURL is.
func (p Project) CommitURL(sha string) string {
	return githost.Page(p.WebURL, p.pages().Commit, sha, "")
}

func (p Project) pages() githost.Layout { return cmp.Or(p.Pages, githost.GitHubLayout()) }
