package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Sentinels of the Store.
var (
	// ErrConflict means that the task is not at the version that was expected, or
	// that a name that it would get is taken: load again and decide again.
	ErrConflict = errors.New("the task has changed in the meantime")
	// ErrNotFound means that there is no such task.
	ErrNotFound = errors.New("no such task")
)

// Task is one pipeline run of one board issue: the row that the store keeps.
type Task struct {
	ID               int64
	WorkItemID       string // <PREFIX>-<NNN>, unique per repo
	TrackerProjectID string
	TrackerIssueID   string // a tombstone once the task is cancelled
	Repo             string // owner/name
	Branch           string // unique per repo
	Slug             string
	Title            string
	Description      string
	State            stage.State // where it stands; State.Stage is the stage
	TrackerMessageID string      // of the live messenger message, or what package livemessage notes while it sends one

	BRDReviewStartedAt time.Time
	BRDReviewEndedAt   time.Time
	ApprovedAt         time.Time
	ApprovedBy         string
	CancelRequestedAt  time.Time
	CancelledAt        time.Time
	CreatedAt          time.Time
	UpdatedAt          time.Time
	StageEnteredAt     time.Time
	Version            int64 // optimistic concurrency; 0 = not stored yet
}

// AwaitsCI reports whether a task waits for the CI of a commit.
func (t Task) AwaitsCI(sha string) bool {
	s := t.State
	at := s.Stage == stage.Development || s.Stage == stage.DeployStaging || s.Stage == stage.Deploy && s.Phase == stage.PhaseRetest
	return at && s.Head == sha && s.Active == "" && !s.Stopping
}

// Reviewed is how long a person took (or takes) over the requirements.
func (t Task) Reviewed(now time.Time) time.Duration {
	end := t.BRDReviewEndedAt
	switch {
	case t.BRDReviewStartedAt.IsZero():
		return 0
	case end.IsZero() && t.State.Stage.Terminal():
		end = t.UpdatedAt
	case end.IsZero():
		end = now
	}
	return max(end.Sub(t.BRDReviewStartedAt), 0)
}

// Deleted is the reason of a task whose branch the remote has no more, with the way on.
func (t Task) Deleted() string {
	return fmt.Sprintf("the branch %s was deleted on the remote; "+
		"In Progress runs the stage again and makes it anew, STOP gives the task up", t.Branch)
}

// OthersPushed is the reason of a task whose branch others have set to commits that do not go on from
// where the service left it, with the way on: it overwrites nobody's. pushed is where that was; empty when
// it has not made one.
func (t Task) OthersPushed(pushed string) string {
	way := "delete it (git push origin --delete " + t.Branch + ")"
	if pushed != "" {
		way = fmt.Sprintf("push on top of %.12s, where the service left it, and that is taken in, or "+
			"set it back (git push --force-with-lease origin %s:refs/heads/%s)", pushed, pushed, t.Branch)
	}
	return fmt.Sprintf("%s has other commits than the service has pushed, or fewer, and it overwrites nobody's: %s", t.Branch, way)
}

// Moment names what a word that is said by a button is bound to: where the task stands, its run, and its commit.
func Moment(t Task) string {
	s := t.State
	state := fmt.Appendf(nil, "%s/%s/%s/%d/%d/%s", s.Stage, s.Phase, s.Hold, s.Run, s.Failures, s.Head)
	return fmt.Sprintf("%.8x", sha256.Sum256(state))
}

// Identity is a task's name for the outside world. The moment of its creation is in it:
// after a lost database ids start again, and what is a new task's must not be taken
// for an old one's.
func Identity(t Task) string { return fmt.Sprintf("%d.%d", t.ID, t.CreatedAt.Unix()) }

// Filter selects tasks. Zero fields select all.
type Filter struct {
	TrackerIssueID string
	Repo           string
	Branch         string
	WorkItemID     string
	Stage          stage.Stage
	Live           bool  // only tasks that are not terminal
	Cancelled      bool  // TrackerIssueID and WorkItemID name cancelled tasks too, whose names are tombstones
	AfterID        int64 // cursor: only larger ids
	BeforeID       int64 // only smaller ids, the largest first
	Limit          int   // 0 = 100
}

// Each reads the tasks that a filter selects, some at a time in the order of their ids; Filter.Limit is how many. An error is
// the last that it yields.
func Each(ctx context.Context, s Store, f Filter) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for {
			page, err := s.Tasks(ctx, f)
			for _, t := range page {
				if f.AfterID = t.ID; !yield(t, nil) {
					return
				}
			}
			if err != nil {
				yield(Task{}, err)
			}
			if err != nil || len(page) == 0 {
				return
			}
		}
	}
}
