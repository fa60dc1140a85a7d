package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/examples/wiring"
)

// client is the part of commands that calls a running server.
type client struct {
	URL string `help:"Address of the running server; default: ORCH_LISTEN on this machine."`
}

// answerMax bounds what is read of an answer.
const answerMax = 64 << 20

// tokenVariable has the token of the person who uses a command; unset: ORCH_ADMIN_TOKEN.
const tokenVariable = "SIGNALBOX_TOKEN"

// call makes a request with the person's token, if there is one, and decodes the answer.
func (c client) call(method, path string, body, into any) error {
	settings, err := wiring.Load(wiring.Environ())
	if err != nil {
		return err
	}
	base := c.URL
	if base == "" {
		base = "http://" + settings.Listen
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, strings.TrimSuffix(base, "/")+path, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	if token := cmp.Or(os.Getenv(tokenVariable), settings.AdminToken.Reveal()); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Timeout: 15 * time.Second}).Do(req)
	if err != nil {
		return fmt.Errorf("the server does not answer; is it running? %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		var p struct{ Detail string }
		if json.Unmarshal(answer, &p) == nil && p.Detail != "" {
			return errors.New(p.Detail)
		}
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	return json.Unmarshal(answer, into)
}

// listed is what commands read of a task in a listing.
type listed struct {
	ID         int64  `json:"id"`
	WorkItemID string `json:"work_item_id"`
	Stage      string `json:"stage"`
}

// find is the id of a task that is named by it or by its work item, in letters of either
// case: the newest one, a cancelled one if there is no other.
func (c client) find(name string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return id, nil
	}
	var list struct{ Tasks []listed }
	if err := c.call(http.MethodGet, "/tasks?cancelled=true&limit=1000&work_item="+url.QueryEscape(strings.ToUpper(name)), nil, &list); err != nil {
		return 0, err
	}
	var found listed
	for _, t := range list.Tasks {
		if found.ID == 0 || t.Stage != "cancelled" || found.Stage == "cancelled" {
			found = t
		}
	}
	if found.ID == 0 {
		return 0, fmt.Errorf("there is no task %q", name)
	}
	return found.ID, nil
}
