package task

import "strings"

// Links to a repository name a commit: a branch moves on, and is removed in the end.

// FileURL is the page of a file of a task's directory at a commit; empty when the
// repository has no pages, or there is no commit.
func (p Project) FileURL(workItemID, sha, name string) string {
	return p.page("blob", sha, p.Docs(workItemID)+"/"+name)
}

// DocsURL is the page of a task's directory at a commit; empty as FileURL is.
func (p Project) DocsURL(workItemID, sha string) string {
	return p.page("tree", sha, p.Docs(workItemID))
}

// CommitURL is the page of a commit; empty as FileURL is.
func (p Project) CommitURL(sha string) string {
	return strings.TrimSuffix(p.page("commit", sha, ""), "/")
}

func (p Project) page(kind, sha, path string) string {
	if p.WebURL == "" || sha == "" {
		return ""
	}
	return strings.TrimSuffix(p.WebURL, "/") + "/" + kind + "/" + sha + "/" + path
}
