// Package slack sends messages to channels of Slack, and takes what people do there by Socket Mode, which needs no address
// of the service's own. A reason or an answer is typed into a dialog that the button opens, so the app reads no message of
// people: it has the scopes chat:write, and connections:write for its own token. What is pressed while no service
// listens is lost, and Slack shows so.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/slack-go/slack"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Options of a Chat. Token, AppToken and Channel are required.
type Options struct {
	Token    secret.String `env:"SLACK_TOKEN" with:"SLACK_APP_TOKEN" doc:"xoxb-… of the app's bot; unset: Slack is not used"`
	AppToken secret.String `env:"SLACK_APP_TOKEN" with:"SLACK_CHANNEL" doc:"xapp-… of the app, for Socket Mode"`
	Channel  string        `env:"SLACK_CHANNEL" doc:"id of the channel, such as C0123ABCD"`
	BaseURL  string        `env:"SLACK_URL" form:"url" doc:"address of the Web API; unset: Slack's own"`

	HTTPClient *http.Client // nil = one with a time limit of 30 s
	Log        *slog.Logger // nil discards
}

// Chat implements messenger.Listener. It is safe for concurrent use.
type Chat struct {
	opt Options
	api *slack.Client
	log *slog.Logger

	shown *expirable.LRU[string, shown] // what messages show now, by id
}

// shownMax bounds the messages whose text is remembered.
const shownMax = 1000

// Bounds of texts, in UTF-16 code units.
const (
	textMax     = 3000
	fallbackMax = 1000 // of what notifications show
	labelMax    = 75   // of a button
	noteMax     = 1000 // of what one person alone is told, and of a question
)

// New makes a chat without calling the network.
func New(o Options) (*Chat, error) {
	for _, x := range []struct{ field, value, want string }{
		{"Token", o.Token.Reveal(), "xoxb-"}, {"AppToken", o.AppToken.Reveal(), "xapp-"},
	} {
		if !strings.HasPrefix(x.value, x.want) {
			return nil, fmt.Errorf("slack: Options.%s: want the token of the app that begins with %s", x.field, x.want)
		}
	}
	if o.Channel == "" {
		return nil, errors.New("slack: Options.Channel is missing: the id of a channel, which its details show last")
	}
	defaults.Fill(&o)
	opts := []slack.Option{
		slack.OptionAppLevelToken(o.AppToken.Reveal()), slack.OptionHTTPClient(restclient.Straight(o.HTTPClient)),
		slack.OptionLog(slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)), // the library would write to the standard error
	}
	if o.BaseURL != "" {
		opts = append(opts, slack.OptionAPIURL(strings.TrimSuffix(o.BaseURL, "/")+"/"))
	}
	return &Chat{
		opt: o, api: slack.New(o.Token.Reveal(), opts...), log: o.Log, shown: expirable.NewLRU[string, shown](shownMax, nil, 0),
	}, nil
}

// Send implements messenger.Messenger. Slack has no silent messages.
func (c *Chat) Send(ctx context.Context, m messenger.Message) (string, error) {
	s := render(m)
	channel, stamp, err := c.api.PostMessageContext(ctx, cmp.Or(m.To, c.opt.Channel), s.options()...)
	if err != nil {
		return "", convert(ctx, err)
	}
	id := channel + "/" + stamp
	c.shown.Add(id, s)
	return id, nil
}

// Edit implements messenger.Messenger.
func (c *Chat) Edit(ctx context.Context, id string, m messenger.Message) error {
	s := render(m)
	c.shown.Add(id, s)
	return c.edit(ctx, id, s)
}

func (c *Chat) edit(ctx context.Context, id string, s shown) error {
	channel, stamp, ok := strings.Cut(id, "/")
	if !ok {
		return fmt.Errorf("slack: message id %q: %w", id, messenger.ErrGone)
	}
	_, _, _, err := c.api.UpdateMessageContext(ctx, channel, stamp, s.options()...)
	return convert(ctx, err)
}

// Moved implements what the service looks at: a channel keeps its id.
func (c *Chat) Moved(context.Context) error { return nil }

// Examine reports whether both tokens are accepted; levels are ok and FAIL.
func (c *Chat) Examine(ctx context.Context, report func(level, what, text string)) {
	mend := "the page OAuth & Permissions of the app has the token for ORCH_SLACK_TOKEN"
	_, err := c.api.AuthTestContext(ctx)
	if err == nil {
		mend = "make an app-level token with connections:write for ORCH_SLACK_APP_TOKEN, and turn Socket Mode on"
		_, _, err = c.api.StartSocketModeContext(ctx)
	}
	if err != nil {
		report("FAIL", "slack", convert(ctx, err).Error()+": "+mend)
		return
	}
	report("ok", "slack", "the tokens are accepted; the bot must be a member of "+c.opt.Channel)
}

// shown is a message as Slack has it.
type shown struct {
	text   string // for notifications
	blocks []slack.Block
	acts   *slack.ActionBlock // nil = none
}

func (s shown) options() []slack.MsgOption {
	blocks := s.blocks
	if s.acts != nil {
		blocks = append(blocks[:len(blocks):len(blocks)], s.acts)
	}
	return []slack.MsgOption{
		slack.MsgOptionText(s.text, true), slack.MsgOptionBlocks(blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// render makes rich text, in which nothing is markup and nobody is mentioned.
func render(m messenger.Message) shown {
	m = m.Fit(textMax)
	lines := m.Lines
	if m.Link != "" {
		lines = append(lines, m.Link)
	}
	text := strings.Join(lines, "\n")
	s := shown{text: messenger.Shorten(strings.Trim(m.Title+"\n"+text, "\n"), fallbackMax)}
	var list []slack.RichTextSectionElement
	if m.Title != "" {
		list = append(list, slack.NewRichTextSectionTextElement(m.Title, &slack.RichTextSectionTextStyle{Bold: true}))
		if text != "" {
			text = "\n" + text
		}
	}
	if list = append(list, linked(text)...); strings.TrimSpace(m.Title+text) == "" { // Slack refuses an empty message
		s.text, list = "…", linked("…")
	}
	s.blocks = []slack.Block{slack.NewRichTextBlock("", slack.NewRichTextSection(list...))}
	var buttons []slack.BlockElement
	for i, one := range m.Choices {
		label := slack.NewTextBlockObject(slack.PlainTextType, messenger.Shorten(one.Label, labelMax), false, false)
		buttons = append(buttons, slack.NewButtonBlockElement(fmt.Sprintf("choice%d", i), one.ID, label))
	}
	if len(buttons) > 0 {
		s.acts = slack.NewActionBlock("", buttons...)
	}
	return s
}

var address = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,:;!?)\]]`)

// linked is a text whose addresses lead there: rich text has none by itself.
func linked(text string) (out []slack.RichTextSectionElement) {
	add := func(plain string) {
		if plain != "" {
			out = append(out, slack.NewRichTextSectionTextElement(plain, nil))
		}
	}
	end := 0
	for _, at := range address.FindAllStringIndex(text, -1) {
		add(text[end:at[0]])
		out = append(out, slack.NewRichTextSectionLinkElement(text[at[0]:at[1]], "", nil))
		end = at[1]
	}
	add(text[end:])
	return out
}
