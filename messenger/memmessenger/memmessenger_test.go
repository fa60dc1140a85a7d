package memmessenger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/messenger/messengertest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

func TestConformance(t *testing.T) {
	messengertest.Run(t, func(*testing.T) messengertest.Fixture {
		c := memmessenger.New()
		return messengertest.Fixture{
			Messenger: c, Delete: c.Delete, Shown: func() []string {
				var out []string
				for _, m := range c.Messages() {
					out = append(out, strings.Join(append([]string{m.Shown.Title, m.Shown.Link}, m.Shown.Lines...), "\n"))
				}
				return out
			},
			Labels: func(id string) (out []string) {
				for _, m := range c.Messages() {
					for _, one := range m.Shown.Choices {
						if m.ID == id {
							out = append(out, one.Label)
						}
					}
				}
				return out
			},
			Press: func(by messenger.Account, id, label string) {
				for _, m := range c.Messages() {
					for _, one := range m.Shown.Choices {
						if m.ID == id && one.Label == label {
							c.Do(by, id, one.ID, "")
						}
					}
				}
			},
			Write: func(by messenger.Account, text string) {
				list := c.Messages()
				c.Do(by, list[len(list)-1].ID, "", text)
			},
			Told: func() (out []string) {
				for _, a := range c.Answers() {
					out = append(out, a.Text)
				}
				return out
			},
			Fail: func(call string, how faulttest.Kind) { c.FailCall(call, faulttest.Error(how)) },
		}
	})
}

func TestFailWith(t *testing.T) {
	c := memmessenger.New()
	down := errors.New("down")
	c.FailWith(down)
	_, err := c.Send(t.Context(), messenger.Message{})
	require.ErrorIs(t, err, down)
	require.ErrorIs(t, c.Edit(t.Context(), "1", messenger.Message{}), down)
}

func Example() {
	c := memmessenger.New()
	id, _ := c.Send(context.Background(), messenger.Message{Title: "APP-1", Lines: []string{"analysis"}})
	_ = c.Edit(context.Background(), id, messenger.Message{Title: "APP-1", Lines: []string{"architecture"}})
	for _, m := range c.Messages() {
		fmt.Println(m.ID, m.Shown.Lines, m.Edits)
	}
	// Output: 1 [architecture] 1
}
