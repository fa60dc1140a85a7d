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
	// FailureLog returns what is shown of why a check of Checks failed: its findings by file and line,
	// and the end of its log, without control sequences and at most FailureMax bytes. It is empty when
	// nothing is shown.
	FailureLog(ctx context.Context, repo string, c Check) (string, error)
	// LineComments lists, oldest first, the newest comments on lines of the newest pull
	// request of a branch, at most LineCommentsMax; none when there is no such pull request.
	LineComments(ctx context.Context, repo, branch, base string) ([]LineComment, error)
}

// Commenter is a host on whose pull requests the service can say something, also when they
// are merged.
type Commenter interface {
	// Comment adds a comment to a pull request, once for each key however often it is called.
	Comment(ctx context.Context, c NewComment) error
}

// Rerunner is a host that can run a check of Checks again. ErrLacking, ErrDenied or ErrNotFound: not this one.
type Rerunner interface {
	Rerun(ctx context.Context, repo string, c Check) error
}

// CommentMax is how long a comment may be, in bytes; the rest is cut.
const CommentMax = 60 << 10

// NewComment is a comment on a pull request.
type NewComment struct {
	Repo   string
	Number int64
	Key    string // identity: letters, digits, and ./_-
	Body   string // Markdown
	// Thread is the LineComment.ID of what it answers; empty = the pull request. The thread is resolved, where the host lets us.
	Thread string
}

// LineComment is a comment on a line of a change. Its State is ReviewCommented, whatever
// the review says that it belongs to; its ID is that of the thread, which its answers have too.
type LineComment struct {
	Review
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 0: of the file, or of a line that is gone
	Old  bool   `json:"old,omitempty"`  // the line is one of the base: on the left of the diff
}
