package slack

import (
	"context"
	"errors"
	"html"
	"log/slog"
	"strings"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
)

const (
	connectAgain = 30 * time.Second // after tokens were refused; the library connects again after all else
	takeAgain    = time.Second      // after an act that was not taken
	field        = "text"           // of a dialog
)

// Accounts implements messenger.Listener.
func (c *Chat) Accounts() string { return "slack" }

// Listen implements messenger.Listener. An act is acknowledged once it is taken: until then Slack shows that it is
// under way, or that it has failed. Of several connections of one app each act comes to one.
func (c *Chat) Listen(ctx context.Context, take func(context.Context, messenger.Act) error) {
	client := socketmode.New(c.api, socketmode.OptionLog(slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)))
	g := run.New(ctx, c.log)
	g.Go("slack", func(ctx context.Context) {
		for ctx.Err() == nil {
			c.warn(ctx, client.RunContext(ctx))
			_ = run.Sleep(ctx, run.Real{}, connectAgain)
		}
	})
	defer g.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-client.Events:
			if failed, ok := e.Data.(*slack.ConnectionErrorEvent); ok {
				c.warn(ctx, failed.ErrorObj)
			}
			if e.Request == nil || e.Request.EnvelopeID == "" {
				continue
			}
			a, ok := c.decode(e.Data)
			for ok && take(ctx, a) != nil {
				if run.Sleep(ctx, run.Real{}, takeAgain) != nil {
					return
				}
			}
			_ = client.AckCtx(ctx, e.Request.EnvelopeID, nil) // it fails when ctx ends
		}
	}
}

func (c *Chat) warn(ctx context.Context, err error) {
	if ctx.Err() == nil && err != nil {
		c.log.Warn("what people do in the chat cannot be received", "err", convert(ctx, err))
	}
}

// decode reads a press of a button, or a dialog that was filled in.
func (c *Chat) decode(data any) (a messenger.Act, ok bool) {
	in, ok := data.(slack.InteractionCallback)
	if !ok {
		return a, false
	}
	a.By = messenger.Account{ID: in.User.ID, Name: in.User.Name}
	switch list := in.ActionCallback.BlockActions; {
	case in.Type == slack.InteractionTypeViewSubmission && in.View.State != nil:
		// A dialog was opened by this app alone, and so is what it is for.
		a.Choice, a.Message, _ = strings.Cut(in.View.PrivateMetadata, " ")
		a.ID, a.Text = in.View.ID, in.View.State.Values[field][field].Value
	case in.Type == slack.InteractionTypeBlockActions && len(list) > 0:
		a.ID, a.Handle, a.Choice = in.TriggerID, in.TriggerID, list[0].Value
		a.Message = in.Channel.ID + "/" + in.Container.MessageTs
		if !c.shown.Contains(a.Message) {
			c.shown.Add(a.Message, shown{text: html.UnescapeString(in.Message.Text), blocks: undecided(in.Message.Blocks.BlockSet)})
		}
	}
	return a, a.ID != "" && a.By.ID != "" && a.Choice != ""
}

// undecided are the blocks of a message without its buttons.
func undecided(list []slack.Block) (out []slack.Block) {
	for _, b := range list {
		if b.BlockType() != slack.MBTAction {
			out = append(out, b)
		}
	}
	return out
}

// Answer implements messenger.Listener: a question is a dialog, all else a line that this person alone sees.
func (c *Chat) Answer(ctx context.Context, a messenger.Act, with messenger.Answer) error {
	channel, _, _ := strings.Cut(a.Message, "/")
	text := messenger.Shorten(with.Text, noteMax)
	if with.Ask {
		_, err := c.api.OpenViewContext(ctx, a.Handle, dialog(a, text))
		var said slack.SlackErrorResponse
		if !errors.As(err, &said) || said.Err != "expired_trigger_id" && said.Err != "exchanged_trigger_id" {
			return convert(ctx, err)
		}
		text = "That took too long to open a dialog: press the button again." // Slack allows three seconds
	}
	if text != "" {
		if _, err := c.api.PostEphemeralContext(ctx, channel, a.By.ID, slack.MsgOptionText(text, true)); err != nil {
			return convert(ctx, err)
		}
	}
	if before, known := c.shown.Get(a.Message); known && with.Done {
		return c.settle(ctx, a.Message, before)
	}
	return nil
}

// settle takes the buttons off a message. An edit that came meanwhile is made again, since the buttons are no message of their own.
func (c *Chat) settle(ctx context.Context, id string, before shown) error {
	bare := before
	bare.acts = nil
	c.shown.Add(id, bare)
	err := c.edit(ctx, id, bare)
	if now, _ := c.shown.Get(id); err == nil && now.acts != nil {
		err = c.edit(ctx, id, now)
	}
	if errors.Is(err, messenger.ErrGone) {
		return nil
	}
	return err
}

// dialog wants a text for a choice.
func dialog(a messenger.Act, question string) slack.ModalViewRequest {
	plain := func(s string) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, s, false, false)
	}
	input := slack.NewPlainTextInputBlockElement(nil, field)
	input.Multiline = true
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: plain("signalbox"), Submit: plain("Send"), Close: plain("Cancel"),
		PrivateMetadata: a.Choice + " " + a.Message,
		Blocks:          slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock(field, plain(question), nil, input)}},
	}
}
