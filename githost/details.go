package githost

import "context"

// Bounds of what Details gives.
const (
	FailureMax      = 10 << 10 // bytes
	LineCommentsMax = 50       // the newest
)

// Details is a host that shows more than results: for whom has to mend what failed. Everything
// is text of others. A host that does not implement it shows nothing.
type Details interface {
	// FailureLog is what is shown of why a check of Checks failed: its findings by file and line,
	// and the end of its log, without control sequences and at most FailureMax bytes. It is empty when
	// nothing is shown.
	FailureLog(ctx context.Context, repo string, c Check) (string, error)
	// LineComments lists, oldest first, the newest comments on lines of the newest pull
	// request of a branch, at most LineCommentsMax; none when there is no such pull request.
	LineComments(ctx context.Context, repo, branch string) ([]LineComment, error)
}

// LineComment is a comment on a line of a change. Its State is ReviewCommented, whatever
// the review says that it belongs to.
type LineComment struct {
	Review
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 0: of the file, or of a line that is gone
}
