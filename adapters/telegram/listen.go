package telegram

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

const (
	pollTime   = 25 * time.Second // that Telegram holds a call of getUpdates
	pollAgain  = 5 * time.Second  // after a failure
	takeAgain  = time.Second      // after an act that was not taken
	pollOther  = 30 * time.Second // while another process polls
	updatesMax = 16 << 20         // of an answer, in bytes: 100 updates
	toastMax   = 200              // of the answer to a button, in UTF-16 code units
)

// Kinds of updates that are wanted.
func wanted() []string { return []string{"message", "callback_query"} }

// Accounts implements messenger.Listener.
func (c *Chat) Accounts() string { return "telegram" }

// Listen implements messenger.Listener. What was taken is confirmed by the next call, and Telegram keeps for a day
// what was not: so the offset is stored there.
func (c *Chat) Listen(ctx context.Context, take func(context.Context, messenger.Act) error) {
	ready, offset, last := false, int64(0), ""
	for ctx.Err() == nil {
		var list []json.RawMessage
		err := error(nil)
		if !ready {
			err = c.choose(ctx)
			ready = err == nil
		}
		if ready && c.opt.Secret.IsSet() { // the rest comes by the webhook
			_ = (run.Real{}).Wait(ctx, time.Time{}) // it ends with ctx
			return
		}
		if ready {
			list, err = c.updates(ctx, offset)
		}
		if err != nil {
			if text := err.Error(); text != last && ctx.Err() == nil {
				last = text
				c.log.Warn("what people do in the chat cannot be fetched", "err", err)
			}
			_ = run.Sleep(ctx, run.Real{}, cmp.Or(fault.After(err), pollAgain))
			continue
		}
		last = ""
		for _, raw := range list {
			var head struct {
				ID int64 `json:"update_id"`
			}
			a, ok, err := c.DecodeAct(raw)
			if err != nil {
				c.log.Warn("an update of the chat cannot be read", "err", err)
			}
			for ok && take(ctx, a) != nil {
				if run.Sleep(ctx, run.Real{}, takeAgain) != nil {
					return
				}
			}
			if json.Unmarshal(raw, &head) == nil {
				offset = max(offset, head.ID+1)
			}
		}
	}
}

// choose tells Telegram how updates are taken.
func (c *Chat) choose(ctx context.Context) (err error) {
	if c.opt.Secret.IsSet() {
		_, err = c.bot.SetWebhook(ctx, &bot.SetWebhookParams{
			URL: c.opt.Hooks, AllowedUpdates: wanted(), SecretToken: c.opt.Secret.Reveal(),
		})
	} else {
		_, err = c.bot.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
	}
	return c.convert(err)
}

// updates fetches what has come since an offset. The library moves on before an update is taken, so this is not its call.
func (c *Chat) updates(ctx context.Context, offset int64) ([]json.RawMessage, error) {
	body, _ := json.Marshal(map[string]any{"offset": offset, "timeout": int(pollTime.Seconds()), "allowed_updates": wanted()}) // it encodes
	at := cmp.Or(strings.TrimSuffix(c.opt.BaseURL, "/"), "https://api.telegram.org") + "/bot" + c.opt.Token.Reveal() + "/getUpdates"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Service: service, What: c.words(err.Error())}
	}
	r.Header.Set("Content-Type", "application/json")
	client := *c.opt.HTTPClient
	client.Timeout = max(client.Timeout, 2*pollTime)
	resp, err := client.Do(r)
	if err != nil {
		return nil, passes(c.words(err.Error()))
	}
	defer resp.Body.Close()
	var a struct {
		OK          bool
		Result      []json.RawMessage
		Code        int `json:"error_code"`
		Description string
		Parameters  struct {
			After int `json:"retry_after"`
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, updatesMax)).Decode(&a); err != nil {
		return nil, passes("getUpdates: " + resp.Status + ": " + c.words(err.Error()))
	}
	if a.OK {
		return a.Result, nil
	}
	wait := time.Duration(a.Parameters.After) * time.Second
	if a.Code == http.StatusConflict {
		wait = pollOther
	}
	return nil, &Error{Service: service, What: "getUpdates: " + c.words(a.Description), Again: true, After: wait}
}

// Signature implements messenger.Receiver: the sender shows the secret, and signs nothing.
func (c *Chat) Signature(h http.Header) (*signature.Check, error) {
	given := []byte(h.Get("X-Telegram-Bot-Api-Secret-Token"))
	if !c.opt.Secret.IsSet() || subtle.ConstantTimeCompare(given, []byte(c.opt.Secret.Reveal())) != 1 {
		return nil, signature.ErrMissing
	}
	return signature.Anybody(), nil
}

// Delivery implements messenger.Receiver: an update has its id in its body.
func (c *Chat) Delivery(http.Header) (id, event string) { return "", "update" }

// Habits implements messenger.Receiver.
func (c *Chat) Habits() signature.Habits {
	if !c.opt.Secret.IsSet() {
		return signature.Habits{}
	}
	return signature.Habits{Limit: 1 << 20, Hold: 20 * time.Second}
}

// mark stands at the end of a question, and names the choice that it is asked for, and the number of the choice's message.
var mark = regexp.MustCompile(`\[([!-.0-Z^-~]{1,64})/(\d{1,18})\]$`)

// DecodeAct implements messenger.Receiver. A text is an act when it replies to a question of this bot.
func (c *Chat) DecodeAct(body []byte) (a messenger.Act, ok bool, err error) {
	var u models.Update
	if err := json.Unmarshal(body, &u); err != nil {
		return a, false, fmt.Errorf("telegram: update: %w", err)
	}
	a.ID = strconv.FormatInt(u.ID, 10)
	switch q, m := u.CallbackQuery, u.Message; {
	case q != nil:
		a.By, a.Choice, a.Handle = account(q.From), q.Data, "query/"+q.ID
		chat, id, topic := int64(0), 0, 0
		if at := q.Message.Message; at != nil {
			chat, id, topic = at.Chat.ID, at.ID, at.MessageThreadID
		} else if at := q.Message.InaccessibleMessage; at != nil {
			chat, id = at.Chat.ID, at.MessageID
		}
		a.Message = fmt.Sprintf("%d/%d", chat, id)
		a.Handle = fmt.Sprintf("query/%s/%d", q.ID, topic)
		return a, q.Data != "", nil
	case m == nil, m.From == nil, m.From.IsBot, m.ReplyToMessage == nil, m.ReplyToMessage.From == nil:
		return a, false, nil
	}
	m, asked := u.Message, u.Message.ReplyToMessage
	found := mark.FindStringSubmatch(asked.Text)
	if asked.From.ID != c.bot.ID() || found == nil || !mentions(*asked, m.From.ID) {
		return a, false, nil
	}
	a.By, a.Choice, a.Text = account(*m.From), found[1], cmp.Or(m.Text, m.Caption)
	a.Message = fmt.Sprintf("%d/%d", m.Chat.ID, asked.ID)
	a.Handle = fmt.Sprintf("reply/%d/%d/%s", m.ID, m.MessageThreadID, found[2])
	return a, true, nil
}

// mentions reports whether a message begins with a mention of a user, as questions do. No title or text of another
// can bring one, so that none looks like a question.
func mentions(m models.Message, user int64) bool {
	if len(m.Entities) == 0 {
		return false
	}
	e := m.Entities[0]
	return e.Type == models.MessageEntityTypeTextMention && e.Offset == 0 && e.User != nil && e.User.ID == user
}

func account(u models.User) messenger.Account {
	return messenger.Account{ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(u.FirstName + " " + u.LastName)}
}

// Answer implements messenger.Listener: a button is answered by a passing note, a text by a reply to it.
func (c *Chat) Answer(ctx context.Context, a messenger.Act, with messenger.Answer) error {
	chat, number, _ := strings.Cut(a.Message, "/")
	message, _ := strconv.Atoi(number) // a number of ours
	part := append(strings.Split(a.Handle, "/"), "", "", "")
	topic, _ := strconv.Atoi(part[2])
	button := part[0] == "query"
	if with.Ask || !button && with.Text != "" {
		text := html.EscapeString(messenger.Shorten(with.Text, textMax/2))
		p := &bot.SendMessageParams{ChatID: wire(chat), MessageThreadID: topic, Text: text}
		to := message
		if with.Ask { // the mention makes it a question to that person alone
			p.Text = fmt.Sprintf("<a href=\"tg://user?id=%s\">%s</a>: %s\n[%s/%d]", a.By.ID,
				html.EscapeString(messenger.Shorten(cmp.Or(a.By.Name, a.By.ID), 64)), p.Text, html.EscapeString(a.Choice), message)
			p.ReplyMarkup = models.ForceReply{ForceReply: true, Selective: true}
		} else if n, err := strconv.Atoi(part[1]); err == nil {
			to = n
		}
		p.ReplyParameters = &models.ReplyParameters{MessageID: to, AllowSendingWithoutReply: true}
		if _, err := c.send(ctx, p); err != nil {
			return c.convert(err)
		}
	}
	if button {
		p := &bot.AnswerCallbackQueryParams{CallbackQueryID: part[1]}
		if !with.Ask {
			p.Text, p.ShowAlert = messenger.Shorten(with.Text, toastMax), !with.Done
		}
		if _, err := c.bot.AnswerCallbackQuery(ctx, p); err != nil && !errorContains(err, "query is too old") {
			return c.convert(err)
		}
	}
	if origin, err := strconv.Atoi(part[3]); err == nil {
		message = origin
	}
	if !with.Done {
		return nil
	}
	p := &bot.EditMessageReplyMarkupParams{ChatID: wire(chat), MessageID: message, ReplyMarkup: noKeyboard}
	_, err := c.bot.EditMessageReplyMarkup(ctx, p)
	if errorContains(err, "message is not modified", "message to edit not found", "message can't be edited") {
		return nil
	}
	return c.convert(err)
}
