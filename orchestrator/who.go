package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// How long the tracker's log is waited for, when it does not show yet what the board shows, and how often it is looked at meanwhile.
const (
	logPatience = 2 * time.Minute
	logWait     = 5 * time.Second

	namesPatience = time.Hour // with a column's name, which may be another for a while; adapters know names for ten minutes
)

// madeWithin is how far the last change of an item may be from its making for the item to stand where it was made.
const madeWithin = time.Minute

// findMover returns who has set a status on the board, and the account as far as it is described. late: the tracker's log is behind the
// board. A webhook proves the author of the very change that it reports, and of no other one: a person who edits the title of a card has
// not approved it, and one that comes late does not prove who has set the same status since.
func (in intake) findMover(ctx context.Context, b board, word stage.Status) (by stage.Principal, who tracker.Person, late bool, err error) {
	h := b.hook
	told := b.told == word && b.told != stage.StatusUnknown
	if told && !b.item.Moved().After(h.At) {
		return senderOf(h), h.Actor, false, nil
	}
	by = stage.Principal{Kind: stage.KindPerson, Via: cmp.Or(h.Via, stage.ViaWebhook), Proof: stage.ProofNone}
	if h.Event == HookReplayed {
		by.Via = stage.ViaReconciler
	}
	m, late, err := in.findMoveInLog(ctx, b.item, word, false)
	switch another := m.ActorID != "" && m.ActorID != h.ActorID && m.At.After(h.At); {
	case told && !another:
		return senderOf(h), h.Actor, false, nil
	case err != nil:
		return by, who, false, err
	case m.ActorID != "":
		in.word.Act = m.ID
		by.ID, by.Proof = m.ActorID, cmp.Or(m.Proof, stage.ProofActivity)
		return by, tracker.Person{ID: m.ActorID}, false, nil
	case h.Status && h.ActorID != "" && h.To == "":
		return senderOf(h), h.Actor, false, nil // the payload has no target column
	default:
		return by, who, late, nil
	}
}

// senderOf returns the principal behind a tracker's webhook, by the webhook.
func senderOf(h tracker.Hook) stage.Principal {
	by := stage.Principal{Kind: stage.KindPerson, ID: h.ActorID, Name: h.Actor.Name, Proof: stage.ProofNone}
	by.Via = cmp.Or(h.Via, stage.ViaWebhook)
	if !h.Unsigned {
		by.Proof = cmp.Or(h.Proof, stage.ProofSignature)
	}
	return by
}

// findMoveInLog returns the move that has set a status by the tracker's log, without an actor when the log has none. late: the log may
// have it in a moment. A log that is refused for good is none, unless it was read before or is needed: the outage of a board can look so.
func (e *Engine) findMoveInLog(
	ctx context.Context, item tracker.Item, word stage.Status, needed bool,
) (m tracker.Move, late bool, err error) {
	log, ok := e.Tracker.(tracker.Log)
	columns, both := e.Tracker.(tracker.Board)
	if !ok || !both {
		return m, false, nil
	}
	m, err = log.LastMove(ctx, item.ProjectID, item.ID)
	_, readable := e.logs.Load(item.ProjectID)
	switch {
	case errors.Is(err, tracker.ErrNoLog):
		return m, false, nil
	case err != nil && (readable || needed || fault.Retryable(err)):
		return m, false, err
	case err != nil:
		e.Log.Warn("who has moved the work item cannot be read", "item", item.ID, "err", err)
		return m, false, nil
	}
	e.logs.Store(item.ProjectID, true)
	if m.To == "" {
		stands := item.Moved().Sub(m.At).Abs() <= madeWithin
		if !stands {
			m.ActorID = ""
		}
		return m, !stands, nil
	}
	to, err := columns.StatusOf(ctx, item.ProjectID, m.To)
	if err != nil || to != word {
		m.ActorID = ""
	}
	return m, err == nil && to != word, err
}

// SetByUs reports whether the service has set the status that an item stands at: the tracker's log names an account of its own, and it was
// not a person who uses the same one. t is the item's NewestTask.
func (e *Engine) SetByUs(ctx context.Context, item tracker.Item, t task.Task) (bool, error) {
	m, _, err := e.findMoveInLog(ctx, item, item.Status, false)
	if err != nil {
		return false, err
	}
	if own, err := e.Tracker.Own(m.ActorID); err != nil || !own {
		return false, err
	}
	writes, _, err := StatusWrites(ctx, e.Jobs, mux.Name(item.ProjectID), item.ID, t.ID)
	return ourMove{t, writes}.made(item.Status, e.Now()), err
}

// authorize decides whose word a status on the board is. A nil outcome means that it is to
// be acted on, by the principal; denied is why that principal may not, if so.
func (in intake) authorize(ctx context.Context, b board, word stage.Status) (by stage.Principal, denied string, o *queue.Outcome) {
	by, who, late, err := in.findMover(ctx, b, word)
	if err != nil && word != stage.StatusStop { // which waits for no log
		return by, "", retryOutcome(err)
	}
	if own, err := in.Tracker.Own(by.ID); err != nil {
		return by, "", retryOutcome(err)
	} else if own && (b.told != word || by.ID != b.hook.ActorID) && (ourMove{newest(b.task, b.past), b.writes}).made(word, in.Now()) {
		return by, "", done("the service itself has set " + b.item.StatusName)
	}
	by.Name = cmp.Or(by.Name, in.nameOf(ctx, b.item.ProjectID, by.ID))
	if word == stage.StatusStop { // by any account: nobody is to be kept from stopping
		if why := b.unwitnessed(late); why != "" && (in.claim.Job.Attempt == 1 || in.Now().Sub(in.claim.Job.CreatedAt) < logPatience) {
			return by, "", &queue.Outcome{Kind: queue.OutcomeRetry, At: in.Now().Add(logWait), Error: looksAgain + why}
		}
		return by, "", nil
	}
	if late && by.Via == stage.ViaReconciler && in.Now().Sub(in.claim.Job.CreatedAt) < logPatience {
		return by, "", &queue.Outcome{
			Kind: queue.OutcomeRelease, At: in.Now().Add(logWait),
			Error: "waits for the tracker's log to say who has moved the card",
		}
	}
	on, _ := stage.BoardTrigger(word)
	if by.Via == stage.ViaWebhook && by.ID == "" && (late || in.project.People.NeedProof(on, b.task)) {
		why := "the webhook is about something else; of " + b.item.StatusName + " one of its own tells, or the reconciler finds it"
		return by, "", done(why)
	}
	denied, err = in.refusalOfAccount(ctx, on, b, by, who)
	if err != nil {
		return by, "", retryOutcome(err)
	}
	return by, denied, nil
}

// nameWait bounds how long a word waits for the name of who has said it.
const nameWait = 5 * time.Second

// nameOf is the name of an account of the tracker; empty when none can be had now: the id stands for it then.
func (in intake) nameOf(ctx context.Context, project, account string) string {
	people, ok := in.Tracker.(tracker.People)
	if !ok || account == "" {
		return ""
	}
	ctx, cancel := in.Scheduler.WithTimeout(ctx, nameWait)
	defer cancel()
	who, err := people.Person(ctx, project, account)
	if err != nil && !errors.Is(err, tracker.ErrNotFound) {
		in.Log.Warn("the name of an account cannot be read", "account", account, "err", err)
	}
	return who.Name
}

// unwitnessed says why a STOP that stands on the board is not believed yet; empty when it is. It cannot be taken back, and one look may
// have been answered by a replica that is behind. late: by the log the last move was another.
func (b board) unwitnessed(late bool) string {
	switch {
	case b.told == stage.StatusStop || b.task.ID == 0:
		return ""
	case b.item.Moved().Before(b.task.State.ActedAt):
		return "the board shows STOP as of a moment before the last word"
	case late:
		return "the board shows STOP, and its log another move"
	default:
		return ""
	}
}

// refusalOfAccount returns in one sentence why an account of the tracker may not set a status; empty when
// it may. It is described only where the lists need that.
func (in intake) refusalOfAccount(
	ctx context.Context, on stage.Trigger, b board, by stage.Principal, who tracker.Person,
) (string, error) {
	people := in.project.People
	list, _ := people.Allowed(on)
	who.ID = by.ID
	described, ok := in.Tracker.(tracker.People)
	if ok && by.Proved() && !task.Matches(list, who) && task.DescribesAccounts(list) && !b.task.State.Stage.Terminal() {
		found, err := described.Person(ctx, b.item.ProjectID, by.ID)
		switch {
		case err == nil:
			found.ID, who = by.ID, found
		case fault.Retryable(err):
			return "", err
		case who.Email == "":
			in.Log.Warn("an account cannot be described; name its id in the registry, or let the token read members",
				"account", by.ID, "repo", b.task.Repo, "err", err)
		}
	}
	return refusalByRegistry(people, on, b.task, by, who), nil
}

// refusalByRegistry returns why a principal, as far as it is described, may not set a status; empty when it may.
func refusalByRegistry(people task.People, on stage.Trigger, t task.Task, by stage.Principal, who tracker.Person) string {
	list, role := people.Allowed(on)
	apart := people.Separate && on == stage.OnApproved
	switch {
	case t.State.Stage.Terminal(), !people.NeedProof(on, t):
		return ""
	case !by.Proved():
		return fmt.Sprintf("it cannot be proved who has set %s, and not everybody may here; set it again", StatusName(on))
	case apart && strings.EqualFold(by.ID, t.State.Starter):
		return fmt.Sprintf("%s has started the task, and somebody else is to approve it", by.Who())
	case len(list) == 0 || task.Matches(list, who):
		return ""
	}
	return fmt.Sprintf("%s may not set %s here; the %s are %s", by.Who(), StatusName(on), role, strings.Join(list, ", "))
}

// StatusName is the name of the status of a person's word.
func StatusName(on stage.Trigger) string {
	info, _ := stage.StatusNamed(stage.Status(on))
	return info.Name
}

// onBoard is a moment by the tracker's clock, zero where it is not known: as long after the last word as by our own.
func onBoard(s stage.State, at time.Time) (seen time.Time) {
	if !s.HeardAt.IsZero() {
		seen = s.ActedAt.Add(max(saving, at.Sub(s.HeardAt))) // clocks of replicas may differ, and that was heard late
	}
	return seen
}

// complete fills in what the machine needs of a decision that was not made on the board: when
// it was, by the tracker's clock, and whether the principal may.
func (in intake) complete(ctx context.Context, t task.Task, ev *stage.Event) (err error) {
	ev.Seen = onBoard(t.State, ev.At)
	people := in.project.People
	if ev.By.Via == stage.ViaHost {
		people.Approvers = nil // the account is among those that the registry names for the host
	}
	ev.Denied, err = in.RefusalOfOperator(ctx, people, ev.On, t, ev.By)
	return err
}

// RefusalOfOperator returns in one sentence why a principal of the service's own (a token, a person whom a provider has signed in) may not
// decide; empty when it may. The registry names such people by the names of their tokens or their e-mail addresses; a role is one of the
// tracker's accounts and names none of them.
func (e *Engine) RefusalOfOperator(
	ctx context.Context, people task.People, on stage.Trigger, t task.Task, by stage.Principal,
) (string, error) {
	who := tracker.Person{ID: by.ID}
	if strings.Contains(by.ID, "@") {
		who.Email = by.ID
	}
	if denied := refusalByRegistry(people, on, t, by, who); denied != "" || !people.Separate || on != stage.OnApproved {
		return denied, nil
	}
	other, err := e.isOther(ctx, t, by)
	if err != nil || other {
		return "", err
	}
	return fmt.Sprintf("it cannot be shown that %s is somebody else than who has started the task; set %s on the board",
		by.Who(), StatusName(on)), nil
}

// isOther reports whether a principal of the service's own is shown not to be the person who has
// started a task. Accounts of a tracker are other names: there it takes e-mail addresses.
func (e *Engine) isOther(ctx context.Context, t task.Task, by stage.Principal) (bool, error) {
	if t.State.Starter == "" {
		return true, nil
	}
	entries, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if r, err := entry.Recorded(); err == nil && r.Event.On == stage.OnToAnalyse {
			if r.Event.By.Via == stage.ViaBoard { // whose names are those of the service, and not of a git host
				return by.Via != stage.ViaHost, nil
			}
			break
		}
	}
	described, ok := e.Tracker.(tracker.People)
	if !ok {
		return false, nil
	}
	starter, err := described.Person(ctx, t.TrackerProjectID, t.State.Starter)
	if err != nil {
		if fault.Retryable(err) {
			return false, err
		}
		return false, nil
	}
	return starter.Email != "" && strings.Contains(by.ID, "@") && !strings.EqualFold(starter.Email, by.ID), nil
}

// identifyWait is how long a job is put off at a time while the tracker has not answered which accounts are the service's own.
const identifyWait = 5 * time.Second

// nobody is an id that no account has.
const nobody = "-"

// Identified returns why it is not known yet which accounts of a project's tracker are the
// service's own. Other trackers are not waited for.
func (e *Engine) Identified(p task.Project) error {
	_, err := e.Tracker.Own(mux.Key(p.Board, nobody))
	return err
}

// awaitAccounts is the outcome of a job that is not to be done yet: it is not known which accounts are the service's own, so that our own
// words could be taken for a person's. nil = it is to be done.
func (e *Engine) awaitAccounts(p task.Project) *queue.Outcome {
	if err := e.Identified(p); err != nil {
		return released(e.Now().Add(identifyWait), err.Error())
	}
	return nil
}

// ourMove is the status of the task and the writes by which a move with an account of the
// service's own is told from one of a person who uses the same account.
type ourMove struct {
	task   task.Task // the newest of the work item, also a cancelled one; zero: none
	writes []Effect  // that are owed to it
}

// isEcho reports whether a webhook of a move by an account of the service's own comes of a write of the service. Other columns than that
// of the last write count as a person's, but those that request nothing, and In Progress: an earlier write may be reported late.
func (m ourMove) isEcho(to stage.Status) bool {
	_, trigger := stage.BoardTrigger(to)
	return !trigger || to == stage.StatusInProgress || m.set(to)
}

// made reports whether the service has set the status that a work item stands at, by an account of its own as the tracker's log says. In
// Progress, which it sets too, may be read from a replica that lags while a task goes on.
func (m ourMove) made(at stage.Status, now time.Time) bool {
	moving := len(m.writes) > 0 || now.Sub(m.task.UpdatedAt) < overwriteWindow
	return m.set(at) || at == stage.StatusInProgress && moving
}

// set reports whether a status was set last, or a write that is owed sets or replaces it.
func (m ourMove) set(s stage.Status) bool {
	_, served := tracker.Resolve(m.task.State.Set, func(at stage.Status) bool { return at == s }) // a board that lacked the column then
	return served || slices.ContainsFunc(m.writes, func(w Effect) bool { return w.Status == s || w.Previous == s })
}
