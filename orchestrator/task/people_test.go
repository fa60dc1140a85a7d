package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A list names a person by the whole id, address or role, and nobody by none.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		entry string
		who   tracker.Person
		want  bool
	}{
		{"bobby", tracker.Person{ID: "bobby"}, true},
		{"bobby", tracker.Person{ID: "bob"}, false},
		{"bob", tracker.Person{ID: "bobby"}, false},
		{"bobby", tracker.Person{ID: "Bobby"}, false}, // ids are the tracker's
		{"bobby", tracker.Person{}, false},
		{"", tracker.Person{ID: "bobby"}, false},
		{"bob@example.org", tracker.Person{ID: "1", Email: "Bob@Example.org"}, true},
		{"bob@example.org", tracker.Person{ID: "1", Email: "bob@example.org.evil.example"}, false},
		{"bob@example.org", tracker.Person{ID: "1", Email: "ob@example.org"}, false},
		{"role:admin", tracker.Person{ID: "1", Role: "Admin"}, true},
		{"role:admin", tracker.Person{ID: "1", Role: "administrator"}, false},
		{"role:admin", tracker.Person{ID: "role:admin"}, false},
		{"role:", tracker.Person{ID: "1"}, false},
	} {
		require.Equal(t, c.want, task.Matches([]string{"kim", c.entry}, c.who), "%q, %+v", c.entry, c.who)
	}
}
