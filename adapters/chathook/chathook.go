// Package chathook is a chat of another program: messages are posted to an address as JSON, and what people do
// there is posted back to /webhooks/chat. Both are signed alike: X-Signalbox-Signature is sha256= and the
// HMAC-SHA256, in hex, of X-Signalbox-Timestamp (seconds since 1970), a dot and the body.
package chathook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/post"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Headers of a request, in both directions.
const (
	SignatureHeader = "X-Signalbox-Signature"
	StampHeader     = "X-Signalbox-Timestamp"
)

// age is how old a request of the other program may be; answerMax bounds its answers, in bytes.
const (
	age       = 5 * time.Minute
	answerMax = 64 << 10
)

// Options of a Chat. URL and Secret are required.
type Options struct {
	URL    secret.String    `env:"CHAT_URL" with:"CHAT_SECRET" doc:"address of a chat in the place of Telegram; unset: none"`
	Secret secret.String    `env:"CHAT_SECRET" form:"long" doc:"signs what goes to CHAT_URL and what comes from there"`
	Client *http.Client     // nil = one with a limit of 10 s; redirects are not followed
	Now    func() time.Time // nil = the real clock
}

// Chat implements messenger.Listener and messenger.Receiver. It is safe for concurrent use.
type Chat struct{ opt Options }

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	if !post.IsAddress(o.URL.Reveal()) || !o.Secret.IsSet() { // what the address is may hold a token
		return nil, errors.New("chathook: Options.URL and Secret: want an address such as https://example.org/chat, and a secret")
	}
	o.Client = post.Client(o.Client)
	defaults.Fill(&o)
	return &Chat{o}, nil
}

// Kinds of requests.
const (
	KindSend   = "send"   // the answer is {"id": "…"}
	KindEdit   = "edit"   // of ID; 404 or 410: there is no such message
	KindAnswer = "answer" // to Act
	kindCheck  = "check"  // nothing is shown
)

// Request holds one thing that is to be shown.
type Request struct {
	Kind    string   `json:"kind"`
	ID      string   `json:"id,omitempty"` // of the message
	To      string   `json:"to,omitempty"` // chat in projects.yaml
	Title   string   `json:"title,omitempty"`
	Lines   []string `json:"lines,omitempty"`
	Link    string   `json:"link,omitempty"`
	Silent  bool     `json:"silent,omitempty"`
	Choices []Choice `json:"choices,omitempty"`

	Act  string `json:"act,omitempty"` // its ID
	Text string `json:"text,omitempty"`
	Ask  bool   `json:"ask,omitempty"`  // for a text, which comes as an Act with the same choice
	Done bool   `json:"done,omitempty"` // the choices of the message ID are taken off
}

// Choice is a button.
type Choice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Act reports that somebody has made a choice, or answered. The other program posts it until the answer is 2xx.
type Act struct {
	ID string `json:"id"` // the same each time
	By struct {
		ID   string `json:"id"` // as people in projects.yaml has it at chat; the program vouches for it
		Name string `json:"name"`
	} `json:"by"`
	Message string `json:"message"`
	Choice  string `json:"choice"`
	Text    string `json:"text"`
}

// Sign is the value of SignatureHeader.
func Sign(key []byte, stamp string, body []byte) string {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write(append([]byte(stamp+"."), body...)) // it does not fail
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// Send implements messenger.Messenger.
func (c *Chat) Send(ctx context.Context, m messenger.Message) (string, error) {
	r := request(m)
	r.Kind = KindSend
	var a struct{ ID string }
	if err := c.call(ctx, r, &a); err != nil {
		return "", err
	}
	if a.ID == "" {
		return "", &fault.Error{Text: "the chat's answer names no id of the message", Again: true}
	}
	return a.ID, nil
}

// Edit implements messenger.Messenger.
func (c *Chat) Edit(ctx context.Context, id string, m messenger.Message) error {
	r := request(m)
	r.Kind, r.ID = KindEdit, id
	return c.call(ctx, r, nil)
}

func request(m messenger.Message) Request {
	r := Request{To: m.To, Title: m.Title, Lines: m.Lines, Link: m.Link, Silent: m.Silent}
	for _, one := range m.Choices {
		r.Choices = append(r.Choices, Choice(one))
	}
	return r
}

// call posts a request, and reads the answer into a value where there is one.
func (c *Chat) call(ctx context.Context, in Request, into any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.opt.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the chat is none")
	}
	stamp := strconv.FormatInt(c.opt.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "signalbox")
	r.Header.Set(StampHeader, stamp)
	r.Header.Set(SignatureHeader, Sign([]byte(c.opt.Secret.Reveal()), stamp, body))
	resp, err := c.opt.Client.Do(r)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // a *url.Error, whose own words have the address
		return &fault.Error{Text: "the chat does not answer: " + fault.Words(errors.Unwrap(err).Error()), Again: true}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	switch status := resp.StatusCode; {
	case status/100 == 2 && into == nil:
		return nil
	case status/100 == 2:
		if err == nil {
			err = json.Unmarshal(answer, into)
		}
		if err != nil {
			return &fault.Error{Text: "the chat's answer cannot be read", Again: true}
		}
		return nil
	case in.Kind == KindEdit && (status == http.StatusNotFound || status == http.StatusGone):
		return messenger.ErrGone
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("the chat answered %s: %w", resp.Status, messenger.ErrUnreachable)
	default:
		wait, _ := fault.Moment(resp.Header.Get("Retry-After"), c.opt.Now())
		return &fault.Error{Text: "the chat answered " + resp.Status, Again: fault.Passes(status), Wait: wait}
	}
}

// Accounts implements messenger.Listener.
func (c *Chat) Accounts() string { return "chat" }

// Listen implements messenger.Listener: acts come by webhooks alone.
func (c *Chat) Listen(ctx context.Context, _ func(context.Context, messenger.Act) error) {
	_ = (run.Real{}).Wait(ctx, time.Time{}) // it ends with ctx
}

// Answer implements messenger.Listener.
func (c *Chat) Answer(ctx context.Context, a messenger.Act, with messenger.Answer) error {
	return c.call(ctx, Request{Kind: KindAnswer, ID: a.Message, Act: a.ID, Text: with.Text, Ask: with.Ask, Done: with.Done}, nil)
}

// Signature implements messenger.Receiver.
func (c *Chat) Signature(h http.Header) (*signature.Check, error) {
	s := signature.Scheme{In: []signature.Place{{Header: SignatureHeader, Prefix: "sha256="}}, Stamp: StampHeader, Age: age}
	return s.Check(h.Get, signature.Of(c.opt.Secret.Reveal()), false, c.opt.Now())
}

// Delivery implements messenger.Receiver: an act has its id in its body.
func (c *Chat) Delivery(http.Header) (id, event string) { return "", "act" }

// Habits implements messenger.Receiver.
func (c *Chat) Habits() signature.Habits {
	return signature.Habits{Limit: 1 << 20, Hold: 8 * time.Second}
}

// DecodeAct implements messenger.Receiver.
func (c *Chat) DecodeAct(body []byte) (messenger.Act, bool, error) {
	var a Act
	if err := json.Unmarshal(body, &a); err != nil {
		return messenger.Act{}, false, fmt.Errorf("chathook: an act: %w", err)
	}
	if a.ID == "" || a.By.ID == "" {
		return messenger.Act{}, false, errors.New("chathook: an act needs id and by.id")
	}
	return messenger.Act{
		ID: a.ID, By: messenger.Account(a.By), Message: a.Message, Choice: a.Choice, Text: strings.TrimSpace(a.Text),
	}, a.Choice != "", nil
}

// Moved reports that the chat has another address; it never has.
func (c *Chat) Moved(context.Context) error { return nil }

// Examine reports whether the other program takes requests; levels are ok and FAIL.
func (c *Chat) Examine(ctx context.Context, report func(level, what, text string)) {
	if err := c.call(ctx, Request{Kind: kindCheck}, nil); err != nil {
		report("FAIL", "chat", err.Error()+": look at ORCH_CHAT_URL, and whether the program there has the same ORCH_CHAT_SECRET")
		return
	}
	report("ok", "chat", "requests are taken")
}
