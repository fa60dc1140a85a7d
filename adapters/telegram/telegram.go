// Package telegram sends messages to Telegram chats through the Bot API, and takes what
// people do there: by long polling, or by a webhook. The bot's token is a part of every
// request's URL there; no error and no log line of this package holds it.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Options of a Chat. Token and ChatID are required.
type Options struct {
	Token secret.String `env:"TELEGRAM_TOKEN" with:"TELEGRAM_CHAT_ID" doc:"of the bot; unset: notices are only logged"`
	// ChatID is a number, or @channelname; a group that becomes a supergroup is followed to its new number.
	ChatID string `env:"TELEGRAM_CHAT_ID" doc:"of the chat; of a topic of a forum as chat/topic"`
	// Secret makes Telegram send what people do to Hooks, in the place of long polling.
	Secret     secret.String `env:"TELEGRAM_WEBHOOK_SECRET" form:"long" doc:"of a webhook to PUBLIC_URL; unset: acts are fetched"`
	Hooks      string        // address of the webhook, https
	BaseURL    string        `env:"TELEGRAM_URL" form:"url" doc:"address of the Bot API; unset: Telegram's own"`
	HTTPClient *http.Client  // nil = one with a time limit of 20 s
	Log        *slog.Logger  // nil discards
}

// Chat implements messenger.Listener and messenger.Receiver. It is safe for concurrent use.
type Chat struct {
	bot  *bot.Bot
	opt  Options
	set  string // Options.ChatID
	log  *slog.Logger
	hide *strings.Replacer

	mu    sync.Mutex
	moved map[string]string // the supergroups that groups have become, by number
}

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	if !o.Token.IsSet() {
		return nil, errors.New("telegram: Options.Token is missing: the bot's token from @BotFather")
	}
	if o.ChatID == "" {
		return nil, errors.New("telegram: Options.ChatID is missing: a number, or @channelname")
	}
	o.HTTPClient = cmp.Or(o.HTTPClient, &http.Client{Timeout: 20 * time.Second})
	defaults.Fill(&o)
	hide := hider(o.Token.Reveal())
	opts := []bot.Option{
		bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, o.HTTPClient),
		// The library would write to the standard logger.
		bot.WithErrorsHandler(func(err error) { o.Log.Warn("telegram", "err", hide.Replace(err.Error())) }),
	}
	if o.BaseURL != "" {
		opts = append(opts, bot.WithServerURL(strings.TrimSuffix(o.BaseURL, "/")))
	}
	if o.Secret.IsSet() && !strings.HasPrefix(o.Hooks, "https://") {
		return nil, errors.New("telegram: Options.Secret: Telegram sends to https alone: set PUBLIC_URL to an address that begins so")
	}
	b, err := bot.New(o.Token.Reveal(), opts...)
	if err != nil {
		return nil, fmt.Errorf("telegram: Token: %s", hide.Replace(err.Error()))
	}
	return &Chat{bot: b, opt: o, set: o.ChatID, log: o.Log, hide: hide, moved: map[string]string{}}, nil
}

// chat is where messages to a place, such as -100123/7, go now; topic is 0 without one.
func (c *Chat) chat(to string) (chat string, topic int) {
	chat, thread, _ := strings.Cut(cmp.Or(to, c.set), "/")
	topic, _ = strconv.Atoi(thread) // what is no number is no topic
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.moved[chat], chat), topic
}

// follow notes that a chat is another now, and reports whether an error says so. The
// old number leads to the new one at each start, and the ids of messages name their chats, so it is not stored.
func (c *Chat) follow(chat string, err error) bool {
	var moved *bot.MigrateError
	if !errors.As(err, &moved) || moved.MigrateToChatID == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := strconv.Itoa(moved.MigrateToChatID); c.moved[chat] != to {
		c.moved[chat] = to
		c.log.Warn("the group has become a supergroup: messages go there",
			"setting", "ORCH_TELEGRAM_CHAT_ID", "was", chat, "set_it_to", to)
	}
	return true
}

// Moved reports, as an error, that a group has become a supergroup and what to set; nil while
// that is not so.
func (c *Chat) Moved(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.moved) == 0 {
		return nil
	}
	was, where := slices.Min(slices.Collect(maps.Keys(c.moved))), "ORCH_TELEGRAM_CHAT_ID"
	if set, _, _ := strings.Cut(c.set, "/"); was != set {
		where = "chat in projects.yaml"
	}
	return fmt.Errorf("the group %s has become a supergroup, to which messages go: set %s to %s", was, where, c.moved[was])
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
	chat, topic := c.chat(m.To)
	p := &bot.SendMessageParams{
		ChatID: wire(chat), MessageThreadID: topic, Text: render(m), DisableNotification: m.Silent, ReplyMarkup: keyboard(m.Choices),
	}
	id, err := c.send(ctx, p)
	if c.follow(chat, err) {
		chat, _ = c.chat(chat)
		p.ChatID = wire(chat)
		id, err = c.send(ctx, p)
	}
	if err != nil {
		return "", c.convert(err)
	}
	if id == 0 {
		return "", passes("the answer says nothing of the message that was sent") // it is not the Bot API that says so
	}
	return chat + "/" + strconv.Itoa(id), nil
}

// noKeyboard takes the buttons off a message.
var noKeyboard = models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{}}

// keyboard shows choices as buttons, three in a row; nil without any.
func keyboard(list []messenger.Choice) models.ReplyMarkup {
	if len(list) == 0 {
		return nil
	}
	k := models.InlineKeyboardMarkup{}
	for row := range slices.Chunk(list, 3) {
		var buttons []models.InlineKeyboardButton
		for _, one := range row {
			buttons = append(buttons, models.InlineKeyboardButton{Text: one.Label, CallbackData: one.ID})
		}
		k.InlineKeyboard = append(k.InlineKeyboard, buttons)
	}
	return k
}

func (c *Chat) send(ctx context.Context, p *bot.SendMessageParams) (int, error) {
	off := true
	p.ParseMode, p.LinkPreviewOptions = models.ParseModeHTML, &models.LinkPreviewOptions{IsDisabled: &off}
	sent, err := c.bot.SendMessage(ctx, p)
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
		number = id
		chat, _, _ = strings.Cut(c.set, "/")
	}
	n, err := strconv.Atoi(number)
	if now, _ := c.chat(chat); err != nil || now != chat {
		return fmt.Errorf("telegram: message id %q: %w", id, messenger.ErrGone)
	}
	off := true
	_, err = c.bot.EditMessageText(ctx, &bot.EditMessageTextParams{
		ChatID: wire(chat), MessageID: n, Text: render(m), ParseMode: models.ParseModeHTML, ReplyMarkup: keyboard(m.Choices),
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if errorContains(err, "message is not modified") {
		return nil
	}
	if c.follow(chat, err) {
		return fmt.Errorf("telegram: the message %s was sent before the group became a supergroup: %w", id, messenger.ErrGone)
	}
	return c.convert(err)
}

// Examine reports whether the token is accepted and the bot sees the chat; levels are ok and FAIL.
func (c *Chat) Examine(ctx context.Context, report func(level, what, text string)) {
	_, err := c.bot.GetMe(ctx)
	mend := "@BotFather gives the token for ORCH_TELEGRAM_TOKEN"
	if err == nil {
		chat, _ := c.chat("")
		_, err = c.bot.GetChat(ctx, &bot.GetChatParams{ChatID: wire(chat)})
		mend = "add the bot to the chat, and set its id as ORCH_TELEGRAM_CHAT_ID"
	}
	if err != nil {
		report("FAIL", "telegram", c.convert(err).Error()+": "+mend)
		return
	}
	report("ok", "telegram", "the token is accepted, and the bot sees the chat")
}
