package orchestrator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// factRefused says that a card got no task: a person changes it, or moves it, and then it says so no more.
const factRefused task.FactKind = "refused"

// Refusal is a card that got no task.
type Refusal struct {
	ItemID  string    `json:"-"`
	Since   time.Time `json:"-"`
	Project string    `json:"project"` // of the tracker
	Repo    string    `json:"repo"`
	Key     string    `json:"key"` // its name for people, such as APP-7
	Title   string    `json:"title"`
	Why     string    `json:"why"`
	Was     string    `json:"was"` // hash of the texts that were judged
}

// refusalsMax bounds the refusals that are read.
const refusalsMax = 1000

// Refusals lists the cards that got no task and were not changed since, of repositories that are registered.
func Refusals(ctx context.Context, e *Engine) (out []Refusal, err error) {
	list, err := e.Store.Facts(ctx, task.Fact{Kind: factRefused}, refusalsMax)
	for _, f := range list {
		r := Refusal{ItemID: f.Of, Since: f.Since}
		if err := json.Unmarshal([]byte(f.Text), &r); err != nil {
			return nil, fmt.Errorf("orchestrator: refusal of %s: %w", f.Of, err)
		}
		if _, known := e.Projects.ByTracker(r.Project); known {
			out = append(out, r)
		}
	}
	return out, err
}

// refusalOf is the fact that a card got no task.
func (in intake) refusalOf(item tracker.Item, why string) task.Fact {
	text, _ := json.Marshal(Refusal{ // it has texts alone
		Project: in.project.TrackerProject, Repo: in.project.Repo, Title: item.Title, Why: why, Was: textsOf(item),
		Key: cmp.Or(item.Key, fmt.Sprintf("%s-%d", in.project.Prefix, item.Sequence)),
	})
	return task.Fact{Kind: factRefused, Of: item.ID, Text: string(text)}
}

// textsOf is a hash of what a first gate judges.
func textsOf(i tracker.Item) string {
	texts, _ := json.Marshal([]any{i.Title, i.Description, i.Labels}) // as above
	return fmt.Sprintf("%x", sha256.Sum256(texts))
}

// EndRefusal takes back that a card got no task, where its texts are others by now or it stands neither where the refusal
// has put it nor where it waits to be judged again. The zero item is one that is gone; read is the error of reading it.
func EndRefusal(ctx context.Context, e *Engine, itemID string, item tracker.Item, read error) error {
	if read != nil && !errors.Is(read, tracker.ErrNotFound) {
		return nil // an event that can read it comes again
	}
	list, err := e.Store.Facts(ctx, task.Fact{Kind: factRefused, Of: itemID}, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	var r Refusal
	if json.Unmarshal([]byte(list[0].Text), &r) == nil && r.Was == textsOf(item) {
		stays := item.Status == stage.StatusToAnalyse || item.Status == stage.StatusBlocked
		if tracks, ok := e.Tracker.(tracker.Board); ok && !stays { // another column may serve Blocked
			columns, err := tracks.Columns(ctx, item.ProjectID)
			if err != nil {
				return err
			}
			stays = columns[stage.StatusBlocked] == item.StatusName
		}
		if stays {
			return nil
		}
	}
	return e.Store.Commit(ctx, task.Commit{Over: list})
}
