// Package telegram sends messages to one Telegram chat through the Bot API. The
// bot's token is a part of every request's URL there; no error and no log line
// of this package holds it.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Options of a Chat. Token and ChatID are required.
type Options struct {
	Token      string
	ChatID     string       // a number, or @channelname
	BaseURL    string       // of the Bot API server; empty = Telegram's own
	HTTPClient *http.Client // nil = one with a time limit of 20 s
	Log        *slog.Logger // nil discards
}

// Chat implements messenger.Messenger. It is safe for concurrent use.
type Chat struct {
	bot  *bot.Bot
	chat any
	hide *strings.Replacer
}

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	if o.Token == "" {
		return nil, errors.New("telegram: Options.Token is missing: the bot's token from @BotFather")
	}
	if o.ChatID == "" {
		return nil, errors.New("telegram: Options.ChatID is missing: a number, or @channelname")
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Timeout: 20 * time.Second}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	hide := hider(o.Token)
	opts := []bot.Option{
		bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, o.HTTPClient),
		// The library would write to the standard logger.
		bot.WithErrorsHandler(func(err error) { o.Log.Warn("telegram", "err", hide.Replace(err.Error())) }),
	}
	if o.BaseURL != "" {
		opts = append(opts, bot.WithServerURL(strings.TrimSuffix(o.BaseURL, "/")))
	}
	b, err := bot.New(o.Token, opts...)
	if err != nil {
		return nil, fmt.Errorf("telegram: Token: %s", hide.Replace(err.Error()))
	}
	c := &Chat{bot: b, chat: o.ChatID, hide: hide}
	if n, err := strconv.ParseInt(o.ChatID, 10, 64); err == nil {
		c.chat = n
	}
	return c, nil
}

// Send implements messenger.Messenger.
func (c *Chat) Send(ctx context.Context, m messenger.Message) (string, error) {
	off := true
	sent, err := c.bot.SendMessage(ctx, &bot.SendMessageParams{
		ChatID: c.chat, Text: Render(m), ParseMode: models.ParseModeHTML, DisableNotification: m.Silent,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if err == nil && sent.ID == 0 {
		return "", &Error{text: "the answer says nothing of the message that was sent", again: true} // it is not the Bot API that says so
	}
	if err != nil {
		return "", c.convert(err)
	}
	return strconv.Itoa(sent.ID), nil
}

// Edit implements messenger.Messenger.
func (c *Chat) Edit(ctx context.Context, id string, m messenger.Message) error {
	n, err := strconv.Atoi(id)
	if err != nil {
		return fmt.Errorf("telegram: message id %q: %w", id, messenger.ErrGone)
	}
	off := true
	_, err = c.bot.EditMessageText(ctx, &bot.EditMessageTextParams{
		ChatID: c.chat, MessageID: n, Text: Render(m), ParseMode: models.ParseModeHTML,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if err != nil && says(err, "message is not modified") {
		return nil
	}
	return c.convert(err)
}

// Ping asks the Bot API who the bot is.
func (c *Chat) Ping(ctx context.Context) error {
	_, err := c.bot.GetMe(ctx)
	return c.convert(err)
}

// Error is a failure of the Bot API. Its text never holds the token.
type Error struct {
	text  string
	cause error
	after time.Duration
	again bool
}

// Error says what the Bot API said.
func (e *Error) Error() string { return "telegram: " + e.text }

// Unwrap gives messenger's sentinel or the context's error, if one applies.
func (e *Error) Unwrap() error { return e.cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return e.again }

// RetryAfter is how long the Bot API says to wait; 0 when it does not say.
func (e *Error) RetryAfter() time.Duration { return e.after }

// convert makes a typed error. What a 400 means is told by its description
// only, so this is the place that reads it. The library's own error is not kept:
// its text may hold the token.
func (c *Chat) convert(err error) error {
	if err == nil {
		return nil
	}
	out := &Error{text: clip(c.hide.Replace(err.Error()))}
	var many *bot.TooManyRequestsError
	var moved *bot.MigrateError
	bad := errors.Is(err, bot.ErrorBadRequest)
	switch {
	case errors.As(err, &many):
		out.again, out.after = true, time.Duration(many.RetryAfter)*time.Second
	case errors.Is(err, context.Canceled):
		out.again, out.cause = true, context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		out.again, out.cause = true, context.DeadlineExceeded
	case errors.As(err, &moved):
		out.text = fmt.Sprintf("the group has become a supergroup: its chat id is %d now", moved.MigrateToChatID)
		out.cause = messenger.ErrUnreachable
	case bad && says(err, "message to edit not found", "message can't be edited", "message_id_invalid"):
		out.cause = messenger.ErrGone
	case bad && says(err, "chat not found", "have no rights to send", "not enough rights", "chat_write_forbidden", "peer_id_invalid"),
		errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound):
		out.cause = messenger.ErrUnreachable
	case bad: // the same request would be refused again
	case errors.Is(err, bot.ErrorConflict): // with another call that is under way
		out.again = true
	default:
		out.again = fault.Passes(code(err))
	}
	return out
}

// refused is how the library writes an answer whose code it has no error for.
var refused = regexp.MustCompile(`^error response from telegram for method \w+, (\d+) `)

// code is that answer's code; 0 when there was none, or none that can be read.
func code(err error) int {
	m := refused.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // it is digits
	return n
}

func says(err error, texts ...string) bool {
	said := strings.ToLower(err.Error())
	for _, t := range texts {
		if strings.Contains(said, t) {
			return true
		}
	}
	return false
}

// hider replaces a token, and the secret half of it wherever that stands alone
// or next to an escaped colon.
func hider(token string) *strings.Replacer {
	_, secret, _ := strings.Cut(token, ":")
	if len(secret) < 8 {
		secret = token // no real one is so short; hiding it would spoil words
	}
	return strings.NewReplacer(token, "***", secret, "***")
}

// clip bounds an error's text, which can be a proxy's page.
func clip(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
