package mux_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

// A tracker that is reached by its name passes the suite of trackers, and so does the first.
func TestConformance(t *testing.T) {
	for _, name := range []string{"", "forge"} {
		t.Run("name "+name, func(t *testing.T) {
			trackertest.Run(t, func(t *testing.T) trackertest.Fixture { return fixture(t, name) })
		})
	}
}

func fixture(t *testing.T, name string) trackertest.Fixture {
	at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	b := memtracker.New(func() time.Time { at = at.Add(time.Second); return at })
	kim := tracker.Person{ID: memtracker.Somebody, Name: "Kim", Email: "kim@example.org", Role: "member"}
	b.AddPerson(kim)
	kim.ID = mux.Key(name, kim.ID)
	all := map[string]mux.Whole{"": memtracker.New(time.Now), "forge": memtracker.New(time.Now)}
	all[name] = b
	n := 0
	id := func(prefix string) string { n++; return fmt.Sprint(prefix, n) }
	projects := map[string]string{}
	return trackertest.Fixture{
		Tracker: mux.New(all),
		NewProject: func(columns ...stage.Status) string {
			p := id("p")
			b.AddProject(p, columns...)
			projects[mux.Key(name, p)] = p
			return mux.Key(name, p)
		},
		NewItem: func(p, title, description string) string {
			i := id("i")
			projects[i] = projects[p]
			b.Put(tracker.Item{ID: i, ProjectID: projects[p], Title: title, Description: description})
			return i
		},
		Move: func(item string, to stage.Status) {
			i, err := b.Item(t.Context(), projects[item], item)
			require.NoError(t, err)
			i.Status = to
			b.Put(i)
		},
		Say:    func(item, text string) { b.Say(item, "kim", text) },
		Attach: b.Attach,
		Person: kim,
		Fail:   func(call string, how faulttest.Kind) { b.FailCall(call, faulttest.Error(how)) },
	}
}

// Ids of two trackers are never equal, and what is of no tracker is not found.
func TestIDs(t *testing.T) {
	forge := memtracker.New(time.Now)
	forge.AddProject("p")
	forge.Put(tracker.Item{ID: "1", ProjectID: "p"})
	forge.Block("1", "2")
	both := mux.New(map[string]mux.Whole{"": memtracker.New(time.Now), "forge": forge})
	list, err := both.BlockedBy(t.Context(), "forge:p", "1")
	require.NoError(t, err)
	require.Equal(t, []tracker.Ref{{ProjectID: "forge:p", ItemID: "2"}}, list)
	require.Equal(t, "https://board.example.org/p/1", both.ItemURL("forge:p", "1"))
	_, err = both.Columns(t.Context(), "p")
	require.ErrorIs(t, err, tracker.ErrNotFound, "the first tracker has no such project")

	forge.AddPerson(tracker.Person{ID: "kim", Role: "admin"})
	kim, err := both.Person(t.Context(), "forge:p", "forge:kim")
	require.NoError(t, err)
	require.Equal(t, tracker.Person{ID: "forge:kim", Role: "admin"}, kim)
	_, err = both.Person(t.Context(), "forge:p", "kim")
	require.ErrorIs(t, err, tracker.ErrNotFound, "somebody of the first tracker")

	alone := mux.New(map[string]mux.Whole{"forge": forge})
	_, err = alone.Item(t.Context(), "p", "1")
	require.ErrorIs(t, err, tracker.ErrNotFound)
	require.ErrorContains(t, err, "no tracker that is set up")
	require.Empty(t, alone.ItemURL("p", "1"))
	own, err := alone.Own("kim")
	require.NoError(t, err)
	require.False(t, own)
}

// silent is a tracker that has not said which accounts are the service's own.
type silent struct{ *memtracker.Board }

func (silent) Own(string) (bool, error) { return false, tracker.ErrUnidentified }

// While one tracker has not said who we are, the others' webhooks are acted on.
func TestUnidentified(t *testing.T) {
	both := mux.New(map[string]mux.Whole{"": memtracker.New(time.Now), "forge": silent{memtracker.New(time.Now)}})
	_, err := both.Own("kim")
	require.NoError(t, err)
	_, err = both.Own("forge:kim")
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	_, err = both.Own("")
	require.ErrorIs(t, err, tracker.ErrUnidentified, "all are not known yet")
}

// sender decodes every body to the same hook.
type sender struct{ tracker.Hook }

func (s sender) Signature(http.Header) (*signature.Check, error) { return signature.Anybody(), nil }
func (s sender) Delivery(http.Header) (id, event string)         { return "1", "issue" }
func (s sender) Habits() signature.Habits                        { return signature.Habits{Limit: 7} }
func (s sender) Decode(_ string, b []byte) (tracker.Hook, error) {
	if len(b) == 0 {
		return tracker.Hook{}, errors.New("empty")
	}
	return s.Hook, nil
}

func Example() {
	forge := memtracker.New(time.Now)
	forge.AddProject("acme/app")
	forge.Put(tracker.Item{ID: "7", ProjectID: "acme/app", Title: "Faster tiles"})
	all := mux.New(map[string]mux.Whole{"": memtracker.New(time.Now), "forge": forge})
	item, err := all.Item(context.Background(), mux.Key("forge", "acme/app"), "7")
	fmt.Println(item.ProjectID, item.Title, err)
	hook, err := mux.Receiver("forge", sender{tracker.Hook{ProjectID: "acme/app", ItemID: "7", ActorID: "kim"}}).Decode("issue", []byte("{}"))
	fmt.Println(hook.ProjectID, hook.ActorID, err)
	// Output:
	// forge:acme/app Faster tiles <nil>
	// forge:acme/app forge:kim <nil>
}

// A page that an item names itself is its address, also where another tracker would form it otherwise.
func TestPages(t *testing.T) {
	b := memtracker.New(nil)
	b.AddProject("p")
	m := mux.New(map[string]mux.Whole{"eng": b, "": b})
	b.Put(tracker.Item{ID: "i", ProjectID: "p"})
	require.Equal(t, b.ItemURL("p", "i"), m.ItemURL("eng:p", "i"))
	b.Put(tracker.Item{ID: "i", ProjectID: "p", URL: "https://tracker.example.org/ENG-7/one"})
	_, err := m.Item(t.Context(), "eng:p", "i")
	require.NoError(t, err)
	require.Equal(t, "https://tracker.example.org/ENG-7/one", m.ItemURL("eng:p", "i"))
	require.Equal(t, b.ItemURL("p", "i"), m.ItemURL("p", "i"), "another tracker's item of this id")
}
