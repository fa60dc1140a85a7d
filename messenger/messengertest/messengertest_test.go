package messengertest_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// An implementation's test opens a fixture for every part of the suite.
func TestMessenger(t *testing.T) {
	messengertest.Run(t, func(*testing.T) messengertest.Fixture {
		chat := memmessenger.New()
		// One that only sends has no more.
		return messengertest.Fixture{Messenger: struct{ messenger.Messenger }{chat}, Delete: chat.Delete, Shown: func() []string {
			var texts []string
			for _, m := range chat.Messages() {
				texts = append(texts, strings.Join(append([]string{m.Shown.Title, m.Shown.Link}, m.Shown.Lines...), "\n"))
			}
			return texts
		}, Fail: func(call string, how faulttest.Kind) { chat.FailCall(call, faulttest.Error(how)) }}
	})
}
