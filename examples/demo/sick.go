package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/github/githubtest"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Neighbours of the service that can be sick.
const (
	theBoard    = "plane"
	theComments = "plane.comments"
	theStatuses = "plane.status"
	theHost     = "github"
	theChat     = "telegram"
	theRemote   = "git" // over which branches are pushed and fetched
)

// neighbour is one of them, with the fates of the cards that meet them without it.
type neighbour struct {
	name  string
	pool  string // of the effects that only it is needed for; empty: cards need it
	fates []fate
}

func neighbours() []neighbour {
	all := []fate{done, stopped, blocked, frozen}
	return []neighbour{
		{theBoard, "", nil}, {theComments, "effects/comments", all}, {theStatuses, "effects/board", all},
		{theHost, "", []fate{stopped}}, {theChat, "effects/chat", all}, {theRemote, "", nil},
	}
}

// sickness is what a neighbour has, from the start on.
type sickness struct {
	neighbour
	kind  fakehttp.Kind
	lasts time.Duration // 0: to the end
}

// sicknesses are a flag that can be given again and again.
type sicknesses []sickness

// board reports whether the board is sick, or a part of it.
func (s sicknesses) board() bool {
	return slices.ContainsFunc(s, func(one sickness) bool { return strings.HasPrefix(one.name, theBoard) })
}

// String implements flag.Value.
func (s *sicknesses) String() string {
	var out []string
	for _, one := range *s {
		out = append(out, one.name+"="+string(one.kind))
	}
	return strings.Join(out, ",")
}

// Set implements flag.Value: NEIGHBOUR=KIND[:DURATION].
func (s *sicknesses) Set(text string) error {
	name, rest, _ := strings.Cut(text, "=")
	kind, span, lasting := strings.Cut(rest, ":")
	one := sickness{kind: fakehttp.Kind(kind)}
	var known []string
	for _, n := range neighbours() {
		if known = append(known, n.name); n.name == name {
			one.neighbour = n
		}
	}
	switch {
	case one.name == "":
		return fmt.Errorf("%q is no neighbour, want NEIGHBOUR=KIND[:DURATION] with one of %s", name, strings.Join(known, ", "))
	case !one.kind.Known():
		return fmt.Errorf("%q is no kind of sickness, want NEIGHBOUR=KIND[:DURATION] with one of %s", kind, fakehttp.Names())
	case slices.ContainsFunc(*s, func(o sickness) bool { return o.name == name }):
		return fmt.Errorf("%s is sick already, want one sickness for each neighbour", name)
	}
	if lasting {
		var err error
		if one.lasts, err = time.ParseDuration(span); err != nil || one.lasts <= 0 {
			return fmt.Errorf("%q is no duration, want one above 0 such as 20s, or none for a sickness that lasts to the end", span)
		}
	}
	*s = append(*s, one)
	return nil
}

// has reports whether a neighbour is sick at first.
func (s *sicknesses) has(name string) bool {
	return slices.ContainsFunc(*s, func(o sickness) bool { return o.name == name })
}

// forever reports whether a neighbour is sick to the end.
func (s *sicknesses) forever(name string) bool {
	return slices.ContainsFunc(*s, func(o sickness) bool { return o.name == name && o.lasts == 0 })
}

// reached reports whether cards meet a fate in spite of what is sick to the end.
func (s *sicknesses) reached(f fate) bool {
	return !slices.ContainsFunc(*s, func(o sickness) bool { return o.lasts == 0 && !slices.Contains(o.fates, f) })
}

// owed reports whether effects of a pool stay owed because of what is sick to the end.
func (s *sicknesses) owed(pool string) bool {
	return slices.ContainsFunc(*s, func(o sickness) bool { return o.lasts == 0 && o.pool == pool })
}

// outside are the neighbours, each behind a switch that can make it sick.
func (w *world) outside(mux *http.ServeMux) error {
	git, err := githubtest.Remote(w.origin())
	if err != nil {
		return err
	}
	w.sick = map[string]*fakehttp.Switch{}
	stand := func(name string, next http.Handler, meets func(*http.Request) bool) http.Handler {
		w.sick[name] = fakehttp.New(next, meets)
		return w.sick[name]
	}
	plane := stand(theComments, stand(theStatuses, w.plane, planetest.IsStatus), planetest.IsComment)
	mux.Handle("/plane/", http.StripPrefix("/plane", stand(theBoard, plane, nil)))
	if w.o.host != onGit {
		mux.Handle("/"+w.o.host+"/", http.StripPrefix("/"+w.o.host, stand(theHost, w.host, nil)))
	}
	mux.Handle("/telegram/", http.StripPrefix("/telegram", stand(theChat, w.chat, nil)))
	mux.Handle("/git/", http.StripPrefix("/git", stand(theRemote, git, nil)))
	for _, s := range w.o.sick {
		w.sick[s.name].Sicken(s.kind)
	}
	return nil
}

// heal makes a neighbour well when its time has come.
func (w *world) heal(ctx context.Context, s sickness) {
	if s.lasts > 0 && pause(ctx, time.Until(w.began.Add(s.lasts))) {
		w.sick[s.name].Heal()
	}
}

// sickView is what the summary says of a sickness.
type sickView struct {
	Neighbour string  `json:"neighbour"`
	Kind      string  `json:"kind"`
	Seconds   float64 `json:"seconds"`
	Healed    bool    `json:"healed"`
	Calls     int     `json:"calls"` // that have met it
}

// countWords counts how often a card has some words: in its comments or, when these do not
// arrive, on the service's own pages.
func (w *world) countWords(ctx context.Context, item, words string) (n int) {
	if !w.o.sick.forever(theComments) {
		return w.countComments(item, words)
	}
	for _, c := range w.look(ctx).Cards {
		for _, entry := range c.Task.Journal {
			var r task.Recorded
			if c.ID != item || json.Unmarshal(entry.Payload, &r) != nil {
				continue
			}
			for _, f := range r.Decision.Effects {
				if f.Kind == stage.EffectComment && strings.Contains(f.Text, words) {
					n++
				}
			}
		}
	}
	return n
}

// stands reports whether a card has met a fate: on the board or, when that is never
// brought up to date, by the service's own word.
func (w *world) stands(c seen, f fate) bool {
	if !w.o.sick.forever(theStatuses) {
		return slices.Contains(map[fate][]string{
			done: {"Done", "Monitoring after Deploy"}, stopped: {"STOP"}, blocked: {"Blocked"}, frozen: {"Analysis", "To Analyse"},
		}[f], c.Column)
	}
	switch f {
	case stopped:
		return c.Task.Stage == stage.Cancelled
	case blocked:
		return w.alerted(c.Key, c.ID)
	case frozen:
		return c.Task.ID != 0
	default:
		return c.Task.Stage == stage.Done
	}
}

// settled reports whether nothing has moved for a while although cards wait for what
// is sick to the end, and the service has said so.
func (w *world) settled(ctx context.Context) bool {
	for _, s := range w.o.sick {
		if time.Since(w.began) < s.lasts {
			return false
		}
	}
	now := ""
	for _, c := range w.look(ctx).Cards {
		now += fmt.Sprintln(c.Key, c.Column, c.Task.Stage, c.Task.Hold, c.Task.Active, len(c.Task.Runs))
	}
	if now != w.stood {
		w.stood, w.since = now, time.Now()
	}
	return time.Since(w.since) > max(5*time.Second, w.scaled(5*time.Second)) && len(w.alarmsLogged()) > 0
}

// ailing returns what was sick.
func (w *world) ailing() (out []sickView) {
	for _, s := range w.o.sick {
		lasted := time.Since(w.began)
		healed := s.lasts > 0 && lasted >= s.lasts
		if healed {
			lasted = s.lasts
		}
		out = append(out, sickView{s.name, string(s.kind), lasted.Round(10 * time.Millisecond).Seconds(), healed, w.sick[s.name].Met()})
	}
	return out
}

// alarms are the lines of the log that say that something outside is wrong.
var alarms = regexp.MustCompile(`msg="(a destination does not answer|a job was given up|a part of the start is tried again|an agent waits for the remote of its repository)".*? ((?:lane|kind|what|repo)=(?:"[^"]*"|\S+))`)

// alarmsLogged returns what the service has logged of what is sick, each thing once.
func (w *world) alarmsLogged() []string {
	log, err := os.ReadFile(w.log())
	if err != nil {
		return nil
	}
	out := []string{}
	for _, m := range alarms.FindAllStringSubmatch(string(log), -1) {
		out = append(out, m[1]+": "+m[2])
	}
	slices.Sort(out)
	return slices.Compact(out)
}
