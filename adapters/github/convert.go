package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

const service = "github"

// Error is a failure of the API. Its cause is githost's sentinel, if one applies.
type Error = restclient.Error

// limitWait is how long to wait for a limit that names no moment.
const limitWait = time.Minute

// status is the HTTP status of an error; 0 when there was no answer.
func status(err error) int {
	var (
		e     *gh.ErrorResponse
		rate  *gh.RateLimitError
		abuse *gh.AbuseRateLimitError
	)
	switch {
	case errors.As(err, &e) && e.Response != nil:
		return e.Response.StatusCode
	case errors.As(err, &rate), errors.As(err, &abuse):
		return http.StatusForbidden
	}
	return 0
}

// convert makes a typed error of what go-github returns. The end of the
// caller's own context stays what it is.
func (c *Client) convert(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := &Error{Service: service, Status: status(err), What: what + ": " + message(err)}
	var (
		own   *Error
		rate  *gh.RateLimitError
		abuse *gh.AbuseRateLimitError
		otp   *gh.TwoFactorAuthError
		e     *gh.ErrorResponse
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &otp): // a 401 of another type
		out.Status, out.Cause = http.StatusUnauthorized, githost.ErrDenied
	case errors.As(err, &rate):
		out.Again, out.After = true, c.until(rate.Rate.Reset.Time)
	case errors.As(err, &abuse):
		out.Again, out.After = true, limitWait
		if abuse.RetryAfter != nil {
			out.After = *abuse.RetryAfter
		}
	case errors.As(err, &e) && e.Response != nil:
		c.convertStatus(out, e)
	default:
		out.Again, out.Cause = true, err
	}
	return out
}

func (c *Client) convertStatus(out *Error, e *gh.ErrorResponse) {
	code, header := e.Response.StatusCode, e.Response.Header
	switch named, says := fault.Moment(header.Get("Retry-After"), c.opt.Now()); {
	case code == http.StatusTooManyRequests, limited(e):
		out.Again, out.After = true, c.wait(header)
	case fault.Passes(code):
		out.Again = true
		if says {
			out.After = named
		}
	case code == http.StatusNotFound, code == http.StatusGone:
		out.Cause = githost.ErrNotFound
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		out.Cause = githost.ErrDenied
	case code/100 == 3:
		out.What += " (moved: correct the repository's name or BaseURL)"
	}
}

// limited reports whether a refusal is one of GitHub's limits: it is no 429 then, and
// not every server and every limit names the page of the limits.
func limited(e *gh.ErrorResponse) bool {
	code, header := e.Response.StatusCode, e.Response.Header
	if code != http.StatusForbidden && code != http.StatusUnauthorized {
		return false
	}
	said := strings.ToLower(e.Message)
	return header.Get("Retry-After") != "" || strings.Contains(said, "rate limit") ||
		strings.Contains(said, "abuse detection") || strings.Contains(said, "login attempts exceeded")
}

// unreadable is a success of GitHub without what was to be read: it is a
// page of something in front of it.
func unreadable(what string) error {
	return &Error{Service: service, Status: http.StatusOK, What: what + ": the answer says nothing of it", Again: true}
}

// wait reads how long a limit lasts.
func (c *Client) wait(h http.Header) time.Duration {
	if wait, ok := fault.Moment(h.Get("Retry-After"), c.opt.Now()); ok {
		return wait
	}
	if n, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		return c.until(time.Unix(n, 0))
	}
	return limitWait
}

// waitMax bounds the moment that GitHub may name.
const waitMax = 24 * time.Hour

// until is how long to wait for the end of a limit.
func (c *Client) until(at time.Time) time.Duration {
	return min(max(at.Sub(c.opt.Now()), time.Second), waitMax)
}

// message returns GitHub's words for an error, without the address of the request.
func message(err error) string {
	var e *gh.ErrorResponse
	if errors.As(err, &e) && e.Response != nil {
		text := fmt.Sprintf("%d %s", e.Response.StatusCode, e.Message)
		for _, d := range e.Errors {
			text += "; " + d.Message
		}
		return text
	}
	return restclient.Bare(err).Error()
}

// stateOf normalises the state of a commit status.
func stateOf(s string) githost.CheckState {
	switch s {
	case "success":
		return githost.CheckPassed
	case "failure", "error":
		return githost.CheckFailed
	}
	return githost.CheckPending
}

// conclusions translates GitHub's words for how check runs and workflows end; any other is a failure.
var conclusions = map[string]githost.CheckState{
	"success": githost.CheckPassed, "neutral": githost.CheckPassed, "skipped": githost.CheckPassed,
	"failure": githost.CheckFailed, "timed_out": githost.CheckTimedOut,
	"cancelled": githost.CheckCancelled, "stale": githost.CheckCancelled, "startup_failure": githost.CheckCancelled,
	"action_required": githost.CheckHeld,
}

// conclusion normalises a check run or workflow.
func conclusion(status, conclusion string) githost.CheckState {
	if status != "completed" {
		return githost.CheckPending
	}
	return cmp.Or(conclusions[conclusion], githost.CheckFailed)
}

// note describes a check run: its title, behind GitHub's word where the state does not tell it.
func note(state githost.CheckState, conclusion, title string) string {
	if state != githost.CheckHeld && state != githost.CheckCancelled {
		return title
	}
	return strings.TrimSuffix(conclusion+": "+title, ": ")
}

// reviewState normalises a review's state, which webhooks write in lower case
// and the API in capitals; ok is false for one that is not submitted.
func reviewState(s string) (state githost.ReviewState, ok bool) {
	switch strings.ToUpper(s) {
	case "APPROVED":
		return githost.ReviewApproved, true
	case "CHANGES_REQUESTED":
		return githost.ReviewChangesRequested, true
	case "COMMENTED":
		return githost.ReviewCommented, true
	case "DISMISSED":
		return githost.ReviewDismissed, true
	}
	return "", false
}

func pullRequest(pr *gh.PullRequest) githost.PullRequest {
	out := githost.PullRequest{
		Number: int64(pr.GetNumber()), URL: pr.GetHTMLURL(),
		Open: pr.GetState() == "open", Merged: pr.GetMerged() || !pr.GetMergedAt().IsZero(),
		HeadRef: pr.GetHead().GetRef(), HeadSHA: pr.GetHead().GetSHA(), BaseRef: pr.GetBase().GetRef(),
		Author: pr.GetUser().GetLogin(),
	}
	if out.Merged {
		out.MergeSHA = pr.GetMergeCommitSHA()
	}
	return out
}
