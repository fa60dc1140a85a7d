package slack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/adapters/slack"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// A message goes to the channel, and its id is what an edit names.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // in the place of Slack's
		fmt.Println(r.URL.Path, r.FormValue("channel"))
		fmt.Fprint(w, `{"ok": true, "channel": "C1", "ts": "17.5"}`)
	}))
	defer api.Close()
	chat, err := slack.New(slack.Options{Token: secret.New("xoxb-a"), AppToken: secret.New("xapp-b"), Channel: "C1", BaseURL: api.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := chat.Send(context.Background(), messenger.Message{Title: "APP-1 waits for you"})
	fmt.Println(id, err)
	// Output:
	// /chat.postMessage C1
	// C1/17.5 <nil>
}
