package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// situation is a state in which a card waits, made from outside, and what its explanation
// is to say of it.
type situation struct {
	name   string
	prefix string // of its repository, which no other situation has
	world  string // a key of situationWorlds; default board
	often  bool   // it is played without SOAK too, and by the command why
	place  place  // what its repository has besides
	also   string // prefix of a second repository

	// agents are scripts that agents of PREFIX-1 read first, by role and phase. "fixed" is
	// true in them once the cause is mended.
	agents map[string]string
	make   func(*obedient, situation) // nil: the card is set To Analyse
	mend   func(*obedient, situation) // takes the cause away that is outside of the service

	// The blocker: its kind and who, and parts of why and do. Without a kind the card waits
	// for nothing, and why is a part of the summary.
	kind    string
	who     admit.Who
	why, do string

	end stage.Stage // where the card gets by doing what the explanations say; default done
}

// situationWorlds holds what situations share. In some they are played side by side.
var situationWorlds = map[string]struct {
	together bool
	settings map[string]string
}{
	"board": {true, map[string]string{
		"AGENT_RETRY_DELAYS": "100ms,10m", "MONITOR_INTERVAL": "100ms", "MONITOR_WINDOW": "2s", "MERGE_GATE_REPOS": "acme/ret", "SERIAL_GATE_REPOS": "acme/ser",
	}},
	"outages":  {false, map[string]string{"AGENT_RETRY_DELAYS": "1s,1s,1s", "CALL_TIMEOUT": "1s", "GIT_TIMEOUT": "4s", "RECONCILE_INTERVAL": "2s"}},
	"restarts": {false, map[string]string{"AGENT_RETRY_DELAYS": "1s,1s,1s", "JOB_TTL": "15s"}},
}

// ann is a person who has started no task.
var ann = planetest.Member{ID: "0000face-0000-4000-8000-0000000000aa", Name: "Ann", Email: "ann@example.org", Role: 15}

// Whatever a card waits for, its explanation says why, who ends it and what to do, in
// words of people; who does that, and nothing else, gets the card to its end.
func TestSituations(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(situationWorlds)) {
		t.Run(name, func(t *testing.T) {
			var rows []situation
			var places []*place
			for _, s := range situations() {
				if cmp.Or(s.world, "board") != name || os.Getenv("SOAK") == "" && !s.often {
					continue
				}
				rows = append(rows, s)
				s.place.prefix = s.prefix
				places = append(places, &s.place)
				if s.also != "" {
					places = append(places, &place{prefix: s.also})
				}
			}
			t.Parallel()
			w := newWorld(t, situationWorlds[name].settings, places...)
			w.board.AddMember(ann)
			for _, s := range rows {
				t.Run(s.name, func(t *testing.T) {
					if situationWorlds[name].together {
						t.Parallel()
					}
					s.play(w.in(t))
				})
			}
		})
	}
}

// play makes the situation and does what its explanation says; with SOAK it sees the card to
// its end.
func (s situation) play(w *world) {
	for agent, script := range s.agents {
		w.write(s.prefix+"-1-"+agent, script)
	}
	o := &obedient{world: w, item: w.card(s.prefix, s.name), heeded: map[string]bool{}}
	if s.make == nil {
		w.move(o.item, "To Analyse")
	} else {
		s.make(o, s)
	}
	var b explain.Blocker
	x := o.to("the explanation says: "+s.why, func(x explain.Explanation) (found bool) { b, found = s.find(x); return found })
	if s.often {
		out := w.signalbox("why", fmt.Sprint(o.task))
		for _, part := range []string{x.WorkItem, x.Title} {
			require.Contains(w, out, part)
		}
		for _, part := range []string{b.Why, b.Do} { // which may have ended meanwhile
			if now, _ := o.see(); slices.ContainsFunc(now.Blockers, func(n explain.Blocker) bool { return n.Why == b.Why && n.Do == b.Do }) {
				require.Contains(w, out, part)
			}
		}
	}
	w.write(s.prefix+"-fixed", "")
	if s.also != "" {
		w.write(s.also+"-fixed", "")
	}
	if s.mend != nil {
		s.mend(o, s)
	}
	if s.kind != "" {
		o.heed(b)
		o.to("it is gone: "+b.Why, func(x explain.Explanation) bool {
			return !slices.ContainsFunc(x.Blockers, func(now explain.Blocker) bool { return now.Kind == b.Kind && now.Why == b.Why })
		})
	}
	if os.Getenv("SOAK") == "" {
		return
	}
	s.end = cmp.Or(s.end, stage.Done)
	o.to("the card ends", func(x explain.Explanation) bool { return x.Stage == s.end })
}

// find is the blocker of the situation.
func (s situation) find(x explain.Explanation) (b explain.Blocker, found bool) {
	if s.kind == "" {
		return b, len(x.Blockers) == 0 && strings.Contains(x.Summary, s.why)
	}
	i := slices.IndexFunc(x.Blockers, func(b explain.Blocker) bool {
		return b.Kind == s.kind && b.Who == s.who && strings.Contains(b.Why, s.why) && strings.Contains(b.Do, s.do)
	})
	if i < 0 {
		return b, false
	}
	return x.Blockers[i], true
}

// obedient is a person who does what the explanations of a card say, and nothing else.
type obedient struct {
	*world
	item   string
	task   int64
	heeded map[string]bool // blockers that were obeyed, once each

	release func() // lets the merges go on that are held up
}

// see is the explanation as it is now; false when there is none.
func (o *obedient) see() (x explain.Explanation, ok bool) {
	if o.task == 0 {
		o.task = o.world.task(o.item).ID
	}
	if o.task == 0 || !o.get(fmt.Sprintf("/tasks/%d/explain", o.task), &x) {
		return x, false
	}
	o.isPlain(x)
	return x, true
}

// to does what people are to do until the explanation is as expected.
func (o *obedient) to(what string, is func(explain.Explanation) bool) (x explain.Explanation) {
	o.Helper()
	defer func() {
		if o.Failed() {
			text, _ := json.MarshalIndent(x, "", "  ")
			o.Logf("the card stands at %q and is explained so: %s", o.column(o.item), text)
		}
	}()
	o.until(what, func() bool {
		now, ok := o.see()
		if !ok {
			return false
		}
		if x = now; is(x) {
			return true
		}
		for _, b := range x.Blockers {
			if b.Who == admit.WhoYou {
				o.heed(b)
			}
		}
		return false
	})
	return x
}

// Words of the machine that nobody is to read: identifiers but settings, and subjects of jobs.
var (
	settingName = regexp.MustCompile(`\bORCH_[A-Z_]+\b`)
	identifier  = regexp.MustCompile(`\b[a-zA-Z0-9]+_[a-zA-Z0-9_]+\b`)
	jobSubject  = regexp.MustCompile(`\b(task|analyst|architect|developer|reviewer|tester|deployer)[/@][\w/.-]+`)
)

// isPlain requires of an explanation all that people need.
func (o *obedient) isPlain(x explain.Explanation) {
	o.Helper()
	texts := []string{x.Summary}
	for _, b := range x.Blockers {
		require.NotEmpty(o, b.Why, b)
		require.NotEmpty(o, b.Do, b)
		require.NotZero(o, b.CheckedAt, b)
		require.NotZero(o, b.Since, b)
		require.Contains(o, []admit.Who{admit.WhoYou, admit.WhoService, admit.WhoTask, admit.WhoOutside}, b.Who, b)
		texts = append(texts, b.Why, b.Do)
	}
	require.NotEmpty(o, x.Summary)
	for _, text := range texts {
		left := settingName.ReplaceAllString(strings.ReplaceAll(text, o.dir, ""), "")
		require.NotRegexp(o, identifier, left)
		require.NotRegexp(o, jobSubject, left)
	}
}

// What an explanation can say to do, beside to set a status.
var (
	addsColumn = regexp.MustCompile(`Add the column ([A-Z][\w ]+) to the board of (\w+)`)
	runs       = regexp.MustCompile(`[Rr]un signalbox (\w+) ("[^"]+"|[^\s,]+)`)
	posts      = regexp.MustCompile(`POST (/[\w/]+)`)
	waitsFor   = regexp.MustCompile(`Wait (?:until|for the end of) [A-Z]+-\d+ \(task (\d+)\)`)
	beginsCard = regexp.MustCompile(`Set To Analyse on the card "([^"]+)"`)
	putsBack   = regexp.MustCompile(`Put (\S+) back into projects.yaml and reload it`)
)

// heed does what a blocker says, once.
func (o *obedient) heed(b explain.Blocker) {
	o.Helper()
	id := b.Kind + " " + b.Why + b.Since.String()
	if o.heeded[id] {
		return
	}
	o.heeded[id] = true
	if m := addsColumn.FindStringSubmatch(b.Do); m != nil {
		o.board.AddState(o.places[m[2]].id, m[1])
	}
	if strings.HasPrefix(b.Do, "Answer in a comment on the card") {
		require.NoError(o, o.board.Say(o.item, "<p>As you think best.</p>"))
	}
	switch {
	case b.Status != "":
		info, known := stage.StatusNamed(b.Status)
		require.True(o, known)
		who := planetest.Human
		if strings.Contains(b.Do, "it takes ") {
			who = ann.ID
		}
		require.NoError(o, o.board.MoveAs(who, o.item, info.Name))
	case strings.HasPrefix(b.Do, "Make a token"): // the row's mend has
	case putsBack.MatchString(b.Do):
		require.Contains(o, o.registry, putsBack.FindStringSubmatch(b.Do)[1])
		o.write("projects.yaml", o.registry)
		o.signalbox("reload")
	case runs.MatchString(b.Do):
		m := runs.FindStringSubmatch(b.Do)
		o.signalbox(m[1], strings.Trim(m[2], `"`))
	case posts.MatchString(b.Do):
		require.Less(o, o.post(posts.FindStringSubmatch(b.Do)[1]), 300, b.Do)
	case waitsFor.MatchString(b.Do):
		require.Contains(o, b.Do, "stop") // so that nobody has to wait
		require.Less(o, o.post("/tasks/"+waitsFor.FindStringSubmatch(b.Do)[1]+"/stop"), 300)
	case strings.Contains(b.Do, "raise wip of the repository in projects.yaml"):
		o.registry = strings.ReplaceAll(o.registry, "wip: 1", "wip: 9")
		o.write("projects.yaml", o.registry)
		o.signalbox("reload")
	case beginsCard.MatchString(b.Do):
		o.move(o.titled(beginsCard.FindStringSubmatch(b.Do)[1]), "To Analyse")
	case strings.HasPrefix(b.Do, "Remove one of these relations"):
		for _, i := range o.board.Items("") {
			o.board.Unblock(o.item, i.ID)
			if i.ID == o.item { // relations have no webhook: they are read again when the card changes, or after 5 min
				o.board.Edit(i.ID, i.Name, "<p>Nothing is before it.</p>")
			}
		}
	case settingName.MatchString(b.Do):
		for _, name := range settingName.FindAllString(b.Do, -1) {
			if name = strings.TrimPrefix(name, "ORCH_"); o.env[name] != "" {
				o.env[name] = "50"
			}
		}
		o.restart()
	case b.Who == admit.WhoOutside || b.Who == admit.WhoService:
		require.Regexp(o, "^(Wait|Look|Set nothing)", b.Do)
	default:
		require.Fail(o, "nobody can do this", "%s: %s", b.Why, b.Do)
	}
}

// titled is the card with a title.
func (w *world) titled(title string) string {
	w.Helper()
	for _, i := range w.board.Items("") {
		if i.Name == title {
			return i.ID
		}
	}
	require.Fail(w, "no card has the title "+title)
	return ""
}

// signalbox runs a command of the program, as an operator; another situation may have the server restarted.
func (w *world) signalbox(args ...string) (said string) {
	w.Helper()
	w.until(fmt.Sprintf("signalbox %v", args), func() bool {
		cmd := exec.CommandContext(w.Context(), "/proc/self/exe", args...)
		cmd.Env = w.environ()
		out, err := cmd.CombinedOutput()
		said = string(out)
		return err == nil
	})
	return said
}
