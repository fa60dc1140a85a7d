package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// fate is how a card ends.
type fate string

const (
	done    fate = "done"
	stopped fate = "stopped" // by a person
	blocked fate = "blocked" // its deployment made things worse
	frozen  fate = "frozen"  // it waits for its repository, which a bad deployment has frozen
)

// card is a card of the demonstration.
type card struct {
	project, title, text string
	after                string // the card that it is blocked by
	fate                 fate
	behind               string // the title of a card of its project that has to be taken up before it is begun
}

// Words in a card's title that make something go wrong.
const (
	flawed   = "offline"   // the developer's first version does not build
	stuck    = "import"    // the tester hangs the first time, and is killed
	rivalled = "перевод"   // somebody else changes the same lines on main
	harmful  = "collector" // what is deployed does not answer any more
	unclear  = "tiles"     // the analyst has a question, which a person answers
	undone   = "offline"   // a person takes back what it has landed
	edited   = "tiles"     // a person adds to its text when the requirements are there
	behind   = "rotate"    // it waits for the repository that what is deployed has frozen
	archived = "перевод"   // a person takes it off the board while it is worked on, and puts it back
)

func cards() []card {
	return []card{
		{"GPX", "Cache tiles per zoom level", "<p>Panning the map is slow: keep the newest tiles in memory.</p>", "", done, ""},
		{"SHP", "Import price lists", "<p>Suppliers send CSV files once a week.</p>", "", done, ""},
		{"OPS", "Try the beta runtime", "<p>It promises faster starts.</p>", "", stopped, ""},
		{"GPX", "Offline mode for saved tracks", "<p>Saved tracks must open without a network.</p>", "SHP-1", done, ""},
		{"SHP", "Русский перевод корзины 🛒", "<p>Тексты корзины на русском языке.</p>", "", done, ""},
		// It freezes the repository: nothing would begin behind it.
		{"OPS", "Send logs to the new collector", "<p>The old one is switched off on Friday.</p>", "", blocked, "Try the beta runtime"},
		{"OPS", "Rotate the signing keys", "<p>Once a quarter.</p>", "", frozen, ""},
	}
}

// count is how many cards end in some way.
func count(f fate) (n int) {
	for _, c := range cards() {
		if c.fate == f {
			n++
		}
	}
	return n
}

// deal puts the cards on the board.
func (w *world) deal(ctx context.Context) error {
	ids, numbers := map[string]string{}, map[string]int{}
	for _, c := range cards() {
		for _, p := range w.projects {
			if p.prefix != c.project {
				continue
			}
			id, err := w.board.AddItem(p.id, c.title, c.text)
			if err != nil {
				return err
			}
			numbers[p.prefix]++
			ids[fmt.Sprintf("%s-%d", p.prefix, numbers[p.prefix])] = id
			if c.after != "" {
				w.board.Block(id, ids[c.after])
			}
			if w.o.manual || c.fate == frozen || c.behind != "" { // people begin these
				continue
			}
			if err := w.board.Move(id, "To Analyse"); err != nil {
				return err
			}
		}
		if !pause(ctx, w.scaled(400*time.Millisecond)) {
			return ctx.Err()
		}
	}
	return nil
}

// people do what people do: approve, confirm deployments, change their mind, and
// begin something where they should not.
func (w *world) people(ctx context.Context) {
	answers := map[string]string{
		question:                     "In Progress",
		wordsOfUndo:                  "Approved",
		"The requirements are ready": "Approved",
		"The deployment is prepared": "Confirm Deploy",
		"the design is ready":        "STOP",
	}
	answered, away := map[string]int{}, map[string]bool{} // cards that are about to be taken off the board
	for pause(ctx, max(w.scaled(500*time.Millisecond), 20*time.Millisecond)) {
		harm := false
		for _, i := range w.board.Items("") {
			if away[i.ID] && w.countComments(i.ID, "analysis → architecture") > 0 {
				delete(away, i.ID)
				w.board.Remove(i.ID, planetest.Archived)
			}
			if i.Gone != "" && slices.ContainsFunc(w.chat.Messages(), isGone) {
				w.board.Restore(i.ID)
			}
			harm = harm || w.ends(i.Name, blocked) && i.StateName == "Blocked"
			if harm && w.ends(i.Name, frozen) && answered[i.ID] == 0 {
				answered[i.ID]++
				_ = w.board.Move(i.ID, "To Analyse")
			}
			if first := w.behind(i); first != "" && answered[i.ID] == 0 && w.countComments(first, "The task is taken up") > 0 {
				answered[i.ID]++
				_ = w.board.Move(i.ID, "To Analyse")
			}
			if key := i.ID + "undo"; w.isUndone(i.Name) && i.StateName == "Done" && answered[key] == 0 && w.undo(ctx) == nil {
				answered[key]++
			}
			for words, answer := range answers {
				if answer == "STOP" && !w.ends(i.Name, stopped) {
					continue
				}
				key := i.ID + words
				if answered[key] >= w.countComments(i.ID, words) {
					continue
				}
				answered[key]++
				if !pause(ctx, w.scaled(time.Second)) {
					return
				}
				switch title := strings.ToLower(i.Name); {
				case words == question:
					_ = w.board.Say(i.ID, "A day.") // the card exists
				case answer == "Approved" && strings.Contains(title, edited):
					w.board.Edit(i.ID, i.Name, "<p>Panning the map is slow: keep the newest tiles in memory, and forget them after a day.</p>")
				case answer == "Approved" && strings.Contains(title, archived):
					away[i.ID] = true
				}
				if answer == "Approved" && words != wordsOfUndo {
					if !w.approve(ctx, i) {
						answered[key]-- // it is tried again
					}
					continue
				}
				_ = w.board.Move(i.ID, answer) // the card and the column exist
				if answer == "STOP" {          // it counts all the same
					_ = w.board.Move(i.ID, "In Progress")
				}
			}
		}
	}
}

// behind is the id of the card that has to be taken up before another is begun; empty =
// none. A webhook that is late, or a server that is killed, must not change their order.
func (w *world) behind(i planetest.Item) (id string) {
	for _, c := range cards() {
		if c.title != i.Name || c.behind == "" {
			continue
		}
		for _, other := range w.board.Items("") {
			if other.Name == c.behind {
				id = other.ID
			}
		}
	}
	return id
}

// ends reports whether a card has a fate.
func (w *world) ends(title string, f fate) bool {
	return slices.ContainsFunc(cards(), func(c card) bool { return c.title == title && c.fate == f })
}

// colleague is a person who works on main of the shop without the service: the
// lines that a card changes are changed there too, while the card is under way.
func (w *world) colleague(ctx context.Context) {
	for _, p := range w.projects {
		if p.prefix != "SHP" {
			continue
		}
		for pause(ctx, 30*time.Millisecond) {
			branch := w.branch(p, "SHP-2")
			diff := exec.CommandContext(ctx, "git", "-C", w.bare(p), "diff", "--quiet", "main..."+branch, "--", shared)
			if branch == "" || diff.Run() == nil {
				continue // nobody works on it yet
			}
			if err := change(ctx, w.bare(p), shared, "the beginning, with a greeting\n", "Greet"); err == nil {
				return
			}
		}
	}
}

// shared is the file that two people change.
const shared = "src/begin.txt"

// branch is the branch of a work item on the git host; empty when there is none.
func (w *world) branch(p *project, item string) string {
	for name := range w.host.Heads(p.repo) {
		if strings.HasPrefix(name, "feature/"+item+"-") {
			return name
		}
	}
	return ""
}

// health answers with the state of a project's newest deployment.
func (w *world) health(rw http.ResponseWriter, r *http.Request) {
	for _, p := range w.projects {
		if p.prefix != r.PathValue("project") {
			continue
		}
		out, _ := filepath.Glob(filepath.Join(production(w.outer(), p.repo), "*.harmful"))
		if len(out) > 0 {
			http.Error(rw, "no route to the collector", http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = rw.Write([]byte("fine\n"))
}

// production is where the demo can see what is out.
func production(dir, repo string) string {
	return filepath.Join(dir, "production", strings.ReplaceAll(repo, "/", "--"))
}

// change commits a file to main of a bare repository.
func change(ctx context.Context, bare, name, body, message string) error {
	dir, err := os.MkdirTemp(filepath.Dir(bare), "colleague-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return script(ctx, bare, `set -e
git clone --quiet "$1" "$2" 2>/dev/null
cd "$2"
printf '%s' "$4" >"$3"
git commit --quiet --all -m "$5"
git push --quiet origin HEAD:main
`, bare, filepath.Join(dir, "clone"), name, body, message)
}
