package chathook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/signalbox-dev/signalbox/adapters/chathook"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// A chat of another maker is a program that takes signed requests.
func Example() {
	key := "a-secret-of-128-bits-or-more"
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signed := chathook.Sign([]byte(key), r.Header.Get(chathook.StampHeader), body)
		fmt.Println("signed:", r.Header.Get(chathook.SignatureHeader) == signed)
		fmt.Fprint(w, `{"id": "m1"}`)
	}))
	defer program.Close()
	chat, err := chathook.New(chathook.Options{URL: secret.New(program.URL), Secret: secret.New(key)})
	if err == nil {
		fmt.Println(chat.Send(context.Background(), messenger.Message{Title: "APP-1 waits for you"}))
	}
	// Output:
	// signed: true
	// m1 <nil>
}
