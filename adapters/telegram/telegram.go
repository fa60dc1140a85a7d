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
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Options of a Chat. Token and ChatID are required.
type Options struct {
	Token secret.String `env:"TELEGRAM_TOKEN" doc:"of the bot; unset: notices are only logged"`
	// ChatID is a number, or @channelname; a group that becomes a supergroup is followed to its new number.
	ChatID     string       `env:"TELEGRAM_CHAT_ID" doc:"of the chat"`
	BaseURL    string       `env:"TELEGRAM_URL" form:"url" doc:"address of the Bot API; unset: Telegram's own"`
	HTTPClient *http.Client // nil = one with a time limit of 20 s
	Log        *slog.Logger // nil discards
}

// Chat implements messenger.Messenger. It is safe for concurrent use.
type Chat struct {
	bot  *bot.Bot
	set  string // Options.ChatID
	log  *slog.Logger
	hide *strings.Replacer

	mu    sync.Mutex
	moved int // the number of the supergroup that the chat has become; 0 = none
}

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	if !o.Token.IsSet() {
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
	hide := hider(o.Token.Reveal())
	opts := []bot.Option{
		bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, o.HTTPClient),
		// The library would write to the standard logger.
		bot.WithErrorsHandler(func(err error) { o.Log.Warn("telegram", "err", hide.Replace(err.Error())) }),
	}
	if o.BaseURL != "" {
		opts = append(opts, bot.WithServerURL(strings.TrimSuffix(o.BaseURL, "/")))
	}
	b, err := bot.New(o.Token.Reveal(), opts...)
	if err != nil {
		return nil, fmt.Errorf("telegram: Token: %s", hide.Replace(err.Error()))
	}
	return &Chat{bot: b, set: o.ChatID, log: o.Log, hide: hide}, nil
}

// chat is where messages go now.
func (c *Chat) chat() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved != 0 {
		return strconv.Itoa(c.moved)
	}
	return c.set
}

// follow notes that the chat is another now, and reports whether an error says so. The
// old number leads to the new one at each start, so it is not stored.
func (c *Chat) follow(err error) bool {
	var moved *bot.MigrateError
	if !errors.As(err, &moved) || moved.MigrateToChatID == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved != moved.MigrateToChatID {
		c.moved = moved.MigrateToChatID
		c.log.Warn("the group has become a supergroup: messages go there",
			"setting", "ORCH_TELEGRAM_CHAT_ID", "was", c.set, "set_it_to", c.moved)
	}
	return true
}

// Moved reports, as an error, that the group of Options.ChatID has become a supergroup
// and what to set; nil while that is not so.
func (c *Chat) Moved(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved == 0 {
		return nil
	}
	return fmt.Errorf("the group %s has become a supergroup, to which messages go: set ORCH_TELEGRAM_CHAT_ID to %d", c.set, c.moved)
}

// wire is a chat as the Bot API takes it.
func wire(chat string) any {
	if n, err := strconv.ParseInt(chat, 10, 64); err == nil {
		return n
	}
	return chat
}

// Send implements messenger.Messenger. The id names the chat: a supergroup numbers its
// messages anew.
func (c *Chat) Send(ctx context.Context, m messenger.Message) (string, error) {
	chat := c.chat()
	id, err := c.send(ctx, chat, m)
	if c.follow(err) && c.chat() != chat {
		chat = c.chat()
		id, err = c.send(ctx, chat, m)
	}
	if err != nil {
		return "", c.convert(err)
	}
	if id == 0 {
		return "", &Error{text: "the answer says nothing of the message that was sent", again: true} // it is not the Bot API that says so
	}
	return chat + "/" + strconv.Itoa(id), nil
}

func (c *Chat) send(ctx context.Context, chat string, m messenger.Message) (int, error) {
	off := true
	sent, err := c.bot.SendMessage(ctx, &bot.SendMessageParams{
		ChatID: wire(chat), Text: Render(m), ParseMode: models.ParseModeHTML, DisableNotification: m.Silent,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if err != nil {
		return 0, err
	}
	return sent.ID, nil
}

// Edit implements messenger.Messenger. What was sent to a group before it became a
// supergroup is gone.
func (c *Chat) Edit(ctx context.Context, id string, m messenger.Message) error {
	chat, number, ok := strings.Cut(id, "/")
	if !ok { // of an earlier version
		chat, number = c.set, id
	}
	n, err := strconv.Atoi(number)
	if err != nil || chat != c.chat() {
		return fmt.Errorf("telegram: message id %q: %w", id, messenger.ErrGone)
	}
	off := true
	_, err = c.bot.EditMessageText(ctx, &bot.EditMessageTextParams{
		ChatID: wire(chat), MessageID: n, Text: Render(m), ParseMode: models.ParseModeHTML,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if err != nil && errorContains(err, "message is not modified") {
		return nil
	}
	if c.follow(err) {
		return fmt.Errorf("telegram: the message %s was sent before the group became a supergroup: %w", id, messenger.ErrGone)
	}
	return c.convert(err)
}

// Examine reports whether the token is accepted and the bot sees the chat; levels are ok and FAIL.
func (c *Chat) Examine(ctx context.Context, report func(level, what, text string)) {
	_, err := c.bot.GetMe(ctx)
	mend := "@BotFather gives the token for ORCH_TELEGRAM_TOKEN"
	if err == nil {
		_, err = c.bot.GetChat(ctx, &bot.GetChatParams{ChatID: wire(c.chat())})
		mend = "add the bot to the chat, and set its id as ORCH_TELEGRAM_CHAT_ID"
	}
	if err != nil {
		report("FAIL", "telegram", c.convert(err).Error()+": "+mend)
		return
	}
	report("ok", "telegram", "the token is accepted, and the bot sees the chat")
}

// Error is a failure of the Bot API. Its text never holds the token.
type Error struct {
	text  string
	cause error
	after time.Duration
	again bool
}

// Error returns the Bot API's description.
func (e *Error) Error() string { return "telegram: " + e.text }

// Unwrap gives messenger's sentinel or the context's error, if one applies.
func (e *Error) Unwrap() error { return e.cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return e.again }

// RetryAfter is the wait that the Bot API requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.after }

// convert makes a typed error. Only its description distinguishes the causes of a 400,
// so this is the place that reads it. The library's own error is not kept:
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
	case bad && errorContains(err, "message to edit not found", "message can't be edited", "message_id_invalid"):
		out.cause = messenger.ErrGone
	case bad && errorContains(err, "chat not found", "have no rights to send", "not enough rights",
		"chat_write_forbidden", "peer_id_invalid"),
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

func errorContains(err error, texts ...string) bool {
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
