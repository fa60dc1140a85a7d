package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// storyMax is how many lines of what happened a story has.
const storyMax = 80

// Story writes what happened in a world in lines that a person can read: who was
// there, what went wrong, and what was done, to the broken invariant.
func (r Result) Story() string {
	var b strings.Builder
	w := r.World
	fmt.Fprintf(&b, "Seed %d: %s, %d cards, features: %s\n",
		w.Seed, plural(w.Replicas, "replica"), w.present(), strings.Join(w.Features, " "))
	for _, p := range w.Projects {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	for _, s := range w.Spells {
		fmt.Fprintf(&b, "  from %s the %s is sick for %s: %s\n", clock(s.At), s.Lane, s.For, s.Kind)
	}
	for _, u := range w.Upsets {
		fmt.Fprintf(&b, "  at %s replica %d: %s, %s\n", clock(u.At), u.Replica, u.Kind, u.For)
	}
	if w.Drawn {
		fmt.Fprintf(&b, "  %d calls had another fate than to work\n", len(r.Fates))
	}
	for _, f := range w.Fates {
		fmt.Fprintf(&b, "  call %d of %s: %s %s\n", f.N, f.Call, f.Kind, clock(f.For))
	}
	lines := Trace(w).Lines
	said := map[string]bool{} // explanations that have not changed
	lines = slices.DeleteFunc(lines, func(l string) bool {
		_, what, _ := strings.Cut(l, " ")
		again := said[what]
		said[what] = strings.HasPrefix(what, "helper ")
		return again || !isNotable(l)
	})
	for i, l := range lines {
		if skip := len(lines) - storyMax; skip > 0 && i >= storyMax/4 && i < storyMax/4+skip {
			if i == storyMax/4 {
				fmt.Fprintf(&b, "… %d lines\n", skip)
			}
			continue
		}
		ms, rest, _ := strings.Cut(l, " ")
		at, err := time.ParseDuration(ms + "ms")
		if err == nil {
			fmt.Fprintf(&b, "%s %s\n", clock(at), rest)
		}
	}
	if r.Failure != nil {
		fmt.Fprintf(&b, "BROKEN: %s\n", r.Failure)
	}
	return b.String()
}

// String is a project in a few words.
func (p Project) String() string {
	text := p.Name
	for _, x := range []struct {
		is   bool
		word string
	}{
		{p.SelfHosting, "self-hosting"},
		{p.CINone, "no CI"},
		{len(p.Columns) > 0, "a board with few columns"},
		{p.CIRed > 0, "CI is red now and then"},
	} {
		if x.is {
			text += ", " + x.word
		}
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// present is how many cards there are.
func (w World) present() (n int) {
	for _, c := range w.Cards {
		if !c.Out {
			n++
		}
	}
	return n
}

// clock is a time since the beginning, as h:mm:ss.
func clock(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// isNotable reports whether a line of a trace says more than that somebody looked.
func isNotable(line string) bool {
	part := strings.SplitN(line, " ", 4)
	if len(part) < 4 {
		return false
	}
	who, what, detail := part[1], part[2], part[3]
	switch {
	case !strings.HasPrefix(who, "r"), strings.Contains(detail, " ["), strings.HasPrefix(detail, "["):
		return true
	case strings.HasPrefix(what, "store.Commit"):
		return !strings.Contains(detail, ", nothing")
	default:
		return slices.Contains([]string{
			"starts", "killed", "agent", "crash", "restart", "pause", "clock", "tracker.SetStatus", "host.Merge", "host.OpenPullRequest",
			"git.Push", "git.Drop", "git.Close", "chat.Send", "lease.Acquire", "lease.Release", "store.Receive", "store.Put",
		}, what)
	}
}
