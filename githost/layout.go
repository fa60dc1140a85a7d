package githost

import (
	"net/url"
	"strings"
)

// Layout is how a host arranges the pages of a repository at a commit: each is a path below
// the repository's own page, with {sha} for the commit and, of files and directories, {path}.
type Layout struct{ File, Directory, Commit string }

// GitHubLayout is that of GitHub.
func GitHubLayout() Layout {
	return Layout{File: "blob/{sha}/{path}", Directory: "tree/{sha}/{path}", Commit: "commit/{sha}"}
}

// GiteaLayout is that of Gitea and Forgejo.
func GiteaLayout() Layout {
	return Layout{File: "src/commit/{sha}/{path}", Directory: "src/commit/{sha}/{path}", Commit: "commit/{sha}"}
}

// Page is the address of a page by one of a layout's forms; empty when the repository has
// no pages (webURL is empty), or there is no commit.
func Page(webURL, form, sha, path string) string {
	if webURL == "" || sha == "" {
		return ""
	}
	path = (&url.URL{Path: path}).EscapedPath()
	return strings.TrimSuffix(webURL, "/") + "/" + strings.NewReplacer("{sha}", sha, "{path}", path).Replace(form)
}
