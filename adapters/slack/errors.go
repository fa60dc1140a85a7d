package slack

import (
	"context"
	"errors"
	"time"

	"github.com/slack-go/slack"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// cause returns what a caller can act upon of an error of Slack; nil = nothing.
func cause(code string) error {
	switch code {
	case "message_not_found", "cant_update_message", "edit_window_closed":
		return messenger.ErrGone
	case "channel_not_found", "not_in_channel", "is_archived", "restricted_action", "invalid_auth", "not_authed", "account_inactive",
		"token_revoked", "token_expired", "missing_scope", "no_permission", "org_login_required", "access_denied":
		return messenger.ErrUnreachable
	}
	return nil
}

// passing are the codes of what may go away by itself.
func passing(code string) bool {
	switch code {
	case "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org":
		return true
	}
	return false
}

// convert makes a typed error, whose text has neither a token nor an address.
func convert(ctx context.Context, err error) error {
	var many *slack.RateLimitedError
	var status slack.StatusCodeError
	var said slack.SlackErrorResponse
	e := &restclient.Error{Service: "slack"}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &many):
		e.What, e.Again, e.After = "too many requests", true, max(many.RetryAfter, time.Second)
	case errors.As(err, &status):
		e.What, e.Status, e.Again = "the answer is "+status.Status, status.Code, fault.Passes(status.Code)
	case errors.As(err, &said):
		e.What, e.Cause, e.Again = restclient.Words(said.Err), cause(said.Err), passing(said.Err)
	default:
		e.Cause, e.Again = restclient.Bare(err), true
		e.What = "no answer that can be read: " + restclient.Words(e.Cause.Error())
	}
	return e
}
