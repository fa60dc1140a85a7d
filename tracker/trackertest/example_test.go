package trackertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

// An implementation's TestConformance is this one call.
func ExampleRun() {
	var t *testing.T // the test's own
	trackertest.Run(t, open)
}

// open makes a board whose clock moves on whenever it is read.
func open(t *testing.T) trackertest.Fixture {
	at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	b := memtracker.New(func() time.Time { at = at.Add(time.Second); return at })
	kim := tracker.Person{ID: memtracker.Somebody, Name: "Kim", Email: "kim@example.org", Role: "member"}
	b.AddPerson(kim)
	items, projects := map[string]tracker.Item{}, 0
	return trackertest.Fixture{
		Tracker: b,
		NewProject: func(columns ...stage.Status) string {
			projects++
			p := fmt.Sprint("p", projects)
			b.AddProject(p, columns...)
			return p
		},
		NewItem: func(project, title, description string) string {
			i := tracker.Item{ID: fmt.Sprint("i", len(items)), ProjectID: project, Title: title, Description: description}
			items[i.ID] = i
			b.Put(i)
			return i.ID
		},
		Move: func(item string, to stage.Status) {
			i := items[item]
			i.Status = to
			b.Put(i)
		},
		Say:    func(item, text string) { b.Say(item, "kim", text) },
		Person: kim,
		Fail:   func(call string, how faulttest.Kind) { b.FailCall(call, faulttest.Error(how)) },
	}
}
