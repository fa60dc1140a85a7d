// Package subscriber sends each change of a task to an address: a CloudEvent
// (https://cloudevents.io, 1.0, structured JSON) of the type dev.signalbox.task.changed, signed as
// Standard Webhooks are (https://www.standardwebhooks.com).
//
// An event is owed as every effect is: it is sent at least once, in the order of the task, for as long as the
// address does not take it, and its id is the same each time. One that the address refuses for what is in it (400,
// 413, 422) is given up at the third look; an operator can have it made again. There is one address: what
// fans out is a broker's work.
package subscriber

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/post"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// name of the feature.
const name = "subscriber"

// eventType of the events.
const eventType = "dev.signalbox.task.changed"

// Options of the feature. URL and Source are required.
type Options struct {
	URL    secret.String `env:"EVENTS_URL" doc:"address that each change of a task is posted to, as a CloudEvent; unset: none"`
	Source string        // names this service in events: its address, or another URI
	Secret secret.String `env:"EVENTS_SECRET" doc:"signs these events, as Standard Webhooks are"`
	Client *http.Client  // nil = one with a limit of 10 s; redirects are not followed
	Now    func() time.Time
}

// Feature makes the feature.
func Feature(o Options) (none orchestrator.Feature, err error) {
	switch {
	case !post.IsAddress(o.URL.Reveal()):
		// What it is may hold a token.
		return none, errors.New("subscriber: Options.URL: want an address such as https://example.org/events")
	case o.Source == "":
		return none, errors.New("subscriber: Options.Source is required: it names the service in events")
	}
	o.Client = post.Client(o.Client)
	defaults.Fill(&o)
	return orchestrator.Feature{
		Name:    name,
		Rules:   []stage.Rule{rule},
		Runners: map[stage.EffectKind]orchestrator.Runner{orchestrator.EffectEvent: orchestrator.RunnerFunc(o.send)},
	}, nil
}

// event is a CloudEvent.
type event struct {
	SpecVersion string    `json:"specversion"` // 1.0
	ID          string    `json:"id"`          // the same each time that the event is sent
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject"` // task/ and its id
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"` // application/json
	Data        data      `json:"data"`
}

// data holds what has changed: the task as it is behind the change.
type data struct {
	TaskID     int64  `json:"task_id"`
	WorkItemID string `json:"work_item_id"`
	Repo       string `json:"repo"`
	Title      string `json:"title"` // as people wrote it
	change
}

// change is the part of Data that the decision has made.
type change struct {
	At         time.Time     `json:"at"`
	On         stage.Trigger `json:"on"`           // what has happened
	By         string        `json:"by,omitempty"` // who, when it was not the service's own doing
	From       stage.Stage   `json:"from"`         // empty = the task began
	Stage      stage.Stage   `json:"stage"`
	Phase      stage.Phase   `json:"phase,omitempty"`
	Active     stage.Role    `json:"active,omitempty"` // the agent at work
	Hold       stage.Hold    `json:"hold,omitempty"`   // what it waits for
	HoldReason string        `json:"hold_reason,omitempty"`
	Run        int64         `json:"run"`
	Head       string        `json:"head_sha,omitempty"`
	Merge      string        `json:"merge_sha,omitempty"`
	Pull       string        `json:"pull_request,omitempty"`
}

// rule adds an event to a decision that changes what is seen of a task.
func rule(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	n := d.State
	c := change{
		At: e.At, On: e.On, By: e.By.Who(), From: s.Stage, Stage: n.Stage, Phase: n.Phase, Active: n.Active,
		Hold: n.Hold, HoldReason: n.HoldReason, Run: n.Run, Head: n.Head, Merge: n.MergeSHA, Pull: n.PRURL,
	}
	before := c
	before.Stage, before.Phase, before.Active, before.Hold = s.Stage, s.Phase, s.Active, s.Hold
	before.HoldReason, before.Head, before.Merge, before.Pull = s.HoldReason, s.Head, s.MergeSHA, s.PRURL
	if !d.Moved || c == before {
		return d
	}
	body, err := json.Marshal(c)
	if err != nil { // our own types always encode
		return d
	}
	d.Effects = append(slices.Clip(d.Effects), stage.Effect{Kind: orchestrator.EffectEvent, Text: string(body)})
	return d
}

// send posts an event.
func (o Options) send(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	v := event{
		SpecVersion: "1.0", ID: e.Key, Source: o.Source, Type: eventType,
		Subject: fmt.Sprint("task/", e.TaskID), ContentType: "application/json",
		Data: data{TaskID: e.TaskID, WorkItemID: e.WorkItem, Repo: e.Repo, Title: e.Title},
	}
	if err := json.Unmarshal([]byte(e.Text), &v.Data.change); err != nil {
		return orchestrator.Retry(err)
	}
	v.Time = v.Data.At
	body, err := json.Marshal(v)
	if err != nil {
		return orchestrator.Retry(err)
	}
	if err := o.post(ctx, v.ID, body); err != nil {
		return orchestrator.Retry(err)
	}
	return queue.Outcome{Kind: queue.OutcomeDone}
}

func (o Options) post(ctx context.Context, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/cloudevents+json")
	at := strconv.FormatInt(o.Now().Unix(), 10)
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	if o.Secret.IsSet() {
		req.Header.Set("Webhook-Signature", sign([]byte(o.Secret.Reveal()), id, at, body))
	}
	return post.Send(ctx, o.Client, req, "the subscriber", o.Now(),
		http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
}

// sign is the value of the header Webhook-Signature: receivers make it of the two other headers and the
// body as it came, and compare.
func sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
