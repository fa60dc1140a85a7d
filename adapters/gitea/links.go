package gitea

import "strings"

// FileURL is the page of a file at a commit; empty when the repository has no pages, or
// there is no commit.
func FileURL(webURL, sha, path string) string { return page(webURL, "src/commit", sha, path) }

// TreeURL is the page of a directory at a commit; empty as FileURL is.
func TreeURL(webURL, sha, path string) string { return page(webURL, "src/commit", sha, path) }

// CommitURL is the page of a commit; empty as FileURL is.
func CommitURL(webURL, sha string) string { return page(webURL, "commit", sha, "") }

func page(webURL, kind, sha, path string) string {
	if webURL == "" || sha == "" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(webURL, "/")+"/"+kind+"/"+sha+"/"+escape(path), "/")
}
