package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// WaitsForReview reports whether a task waits for Approved, and an approval of its pull request may be that.
func WaitsForReview(p task.Project, t task.Task) bool {
	return len(p.People.AtHost) > 0 && t.State.Hold == stage.HoldApproval && t.State.PR != 0
}

// onApproval takes a person's approval of the pull request for Approved, of the commit that was reviewed: what the webhook claims is
// read at the host. by is who has reviewed it; empty: whoever has approved the head, where no webhook has told of it. heard: there is
// such an approval, which was not judged before.
func (in intake) onApproval(ctx context.Context, t task.Task, by string) (o *queue.Outcome, heard bool) {
	list, err := in.Host.Reviews(ctx, in.project.Repo, t.Branch, in.project.Main)
	if err != nil {
		return retryOutcome(err), true
	}
	entries, err := in.Records.Journal(ctx, t.ID)
	if err != nil {
		return retryOutcome(err), true
	}
	judged, looked := map[string]bool{}, map[string]bool{}
	for _, entry := range entries {
		if w, ok := entry.Word(); ok && w.By.Via == stage.ViaHost {
			judged[w.Act] = true
		}
	}
	for _, r := range slices.Backward(list) {
		who := strings.ToLower(r.Author)
		if r.State == githost.ReviewCommented || looked[who] {
			continue
		}
		looked[who] = true // his newest judgement alone counts
		meant := strings.EqualFold(by, r.Author) || by == "" && r.SHA == t.State.Head
		counts := !r.Bot && !r.Own && checks.Counts(r, in.project.Reviewers) && in.project.People.ApprovesAtHost(r.Author)
		if r.State != githost.ReviewApproved || r.SHA == "" || r.ID == "" || !meant || !counts || judged[r.ID] {
			continue
		}
		ev := stage.Event{On: stage.OnApproved, At: in.Now(), Of: r.SHA, By: stage.Principal{
			Kind: stage.KindPerson, ID: r.Author, Via: stage.ViaHost, Proof: stage.ProofActivity,
		}}
		in.hear(t, ev)
		in.word.Act, in.word.SaidAt = r.ID, r.At
		if err := in.complete(ctx, t, &ev); err != nil {
			return retryOutcome(err), true
		}
		if ev.Denied == "" && r.SHA != t.State.Head {
			ev.Denied = fmt.Sprintf("%s has approved %.12s, and the head is %.12s by now; look at that and approve it",
				r.Author, r.SHA, t.State.Head)
		}
		return in.apply(ctx, t, ev, nil), true
	}
	return nil, false
}
