package orchestrator_test

import (
	"fmt"
	"testing"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
)

func dump(r *Rig, item string) {
	for _, en := range journal(r, item) {
		if x, err := en.Recorded(); err == nil {
			fmt.Println(en.Seq, en.At.Format("04:05"), x.Event.On, x.Decision.Edge, x.Decision.Notes, x.Decision.State.Head, x.Decision.State.Pushed)
		} else {
			fmt.Println(en.Seq, en.Kind, string(en.Payload))
		}
	}
}

var _ = testing.Short
