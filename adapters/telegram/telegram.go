// Package telegram sends messages to one Telegram chat through the Bot API.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/signalbox-dev/signalbox/messenger"
)

// Options of a Chat. Token and ChatID are required.
type Options struct {
	Token      string
	ChatID     string // a number, or @channelname
	BaseURL    string // of the Bot API server; empty = Telegram's own
	HTTPClient *http.Client
}

// Chat implements messenger.Messenger. It is safe for concurrent use.
type Chat struct {
	bot    *bot.Bot
	chat   any
	secret string
}

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	if o.Token == "" {
		return nil, errors.New("telegram: Token is missing: the bot's token from @BotFather")
	}
	if o.ChatID == "" {
		return nil, errors.New("telegram: ChatID is missing: a number, or @channelname")
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Timeout: 20 * time.Second}
	}
	opts := []bot.Option{bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, o.HTTPClient)}
	if o.BaseURL != "" {
		opts = append(opts, bot.WithServerURL(strings.TrimSuffix(o.BaseURL, "/")))
	}
	b, err := bot.New(o.Token, opts...)
	if err != nil {
		return nil, fmt.Errorf("telegram: %s", hide(err.Error(), o.Token))
	}
	c := &Chat{bot: b, chat: o.ChatID, secret: o.Token}
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

// Unwrap gives messenger's sentinel, if one applies.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether a later try may succeed.
func (e *Error) Retryable() bool { return e.again }

// RetryAfter is how long the Bot API asks to wait; 0 when it does not say.
func (e *Error) RetryAfter() time.Duration { return e.after }

// convert makes a typed error. What a 400 means is told by its description
// only, so this is the place that reads it.
func (c *Chat) convert(err error) error {
	if err == nil {
		return nil
	}
	out := &Error{text: hide(err.Error(), c.secret)}
	var many *bot.TooManyRequestsError
	switch {
	case errors.As(err, &many):
		out.again, out.after = true, time.Duration(many.RetryAfter)*time.Second
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		out.again = true
	case errors.Is(err, bot.ErrorBadRequest) && says(err, "message to edit not found", "can't be edited", "message_id_invalid"):
		out.cause = messenger.ErrGone
	case errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound),
		errors.Is(err, bot.ErrorBadRequest) && says(err, "chat not found"):
		out.cause = messenger.ErrUnreachable
	case errors.Is(err, bot.ErrorBadRequest), isMigration(err):
	default:
		out.again = true
	}
	return out
}

func isMigration(err error) bool {
	var m *bot.MigrateError
	return errors.As(err, &m)
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

func hide(s, secret string) string { return strings.ReplaceAll(s, secret, "***") }

// textMax is what Telegram takes, in UTF-16 code units after its markup is read.
const textMax = 4096

// cut marks a text that was too long.
const cut = "…"

// Render makes the HTML of a message: the title bold, everything escaped, and
// no longer than Telegram takes.
func Render(m messenger.Message) string {
	left := textMax - 8 // room for the mark of a cut
	var b strings.Builder
	add := func(before, text, after string) {
		if b.Len() > 0 {
			before = "\n" + before
			left--
		}
		text = clip(strings.ToValidUTF8(text, "\ufffd"), &left)
		if text != "" {
			b.WriteString(before + html.EscapeString(text) + after)
		}
	}
	if m.Title != "" {
		add("<b>", m.Title, "</b>")
	}
	for _, line := range m.Lines {
		add("", line, "")
	}
	if m.Link != "" {
		add("", m.Link, "")
	}
	if b.Len() == 0 {
		return cut
	}
	return b.String()
}

// clip cuts a text to what is left, in UTF-16 code units, on a whole character.
func clip(s string, left *int) string {
	if *left <= 0 {
		return ""
	}
	for i, r := range s {
		n := utf16.RuneLen(r)
		if n > *left {
			*left = 0
			return s[:i] + cut
		}
		*left -= n
	}
	return s
}
