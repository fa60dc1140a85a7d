package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// service begins errors.
const service = "telegram"

// Error is a failure of the Bot API, with its description. Its text never holds the token; its cause is messenger's
// sentinel or the context's error, if one applies.
type Error = restclient.Error

// passes makes an error that may go away by itself.
func passes(what string) *Error { return &Error{Service: service, What: what, Again: true} }

// words are others' without the token, cut.
func (c *Chat) words(text string) string { return restclient.Words(c.hide.Replace(text)) }

// convert makes a typed error. Only its description distinguishes the causes of a 400,
// so this is the place that reads it. The library's own error is not kept:
// its text may hold the token.
func (c *Chat) convert(err error) error {
	if err == nil {
		return nil
	}
	out := &Error{Service: service, What: c.words(err.Error())}
	var many *bot.TooManyRequestsError
	var moved *bot.MigrateError
	bad := errors.Is(err, bot.ErrorBadRequest)
	switch {
	case errors.As(err, &many):
		out.Again, out.After = true, time.Duration(many.RetryAfter)*time.Second
	case errors.Is(err, context.Canceled):
		out.Again, out.Cause = true, context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		out.Again, out.Cause = true, context.DeadlineExceeded
	case errors.As(err, &moved):
		out.What = fmt.Sprintf("the group has become a supergroup: its chat id is %d now", moved.MigrateToChatID)
		out.Cause = messenger.ErrUnreachable
	case bad && errorContains(err, "message to edit not found", "message can't be edited", "message_id_invalid"):
		out.Cause = messenger.ErrGone
	case bad && errorContains(err, "chat not found", "have no rights to send", "not enough rights",
		"chat_write_forbidden", "peer_id_invalid"),
		errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound):
		out.Cause = messenger.ErrUnreachable
	case bad: // the same request would be refused again
	case errors.Is(err, bot.ErrorConflict): // with another call that is under way
		out.Again = true
	default:
		out.Again = fault.Passes(code(err))
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
	if err == nil {
		return false
	}
	said := strings.ToLower(err.Error())
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, t) })
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
