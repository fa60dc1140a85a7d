package github

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// Bounds of what is read of a failure.
const (
	annotationsMax = 20
	logLines       = 100
	logMax         = 8 << 10  // bytes that are shown
	logRead        = 64 << 20 // bytes that are read to come to the end
	lineMax        = 64 << 10
)

// FailureLog implements githost.Details: the annotations of a check run, and of a job of a
// workflow the end of its log. What of both cannot be read is left out; it is an error when
// neither can.
func (c *Client) FailureLog(ctx context.Context, repo string, k githost.Check) (string, error) {
	owner, name, err := split(repo)
	if err != nil {
		return "", err
	}
	id, err := strconv.ParseInt(k.ID, 10, 64)
	if k.Kind != "check_run" || err != nil {
		return "", nil
	}
	text, err1 := c.annotations(ctx, owner, name, id)
	if k.App != githost.AppActions {
		return text, err1
	}
	log, err2 := c.jobLog(ctx, owner, name, id)
	if err1 != nil && err2 != nil {
		return "", errors.Join(err1, err2)
	}
	text = text[:min(len(text), githost.FailureMax-logMax-1)]
	return strings.ToValidUTF8(strings.TrimSpace(text+"\n"+log), ""), nil
}

// annotations are the findings of a check run, by file and line.
func (c *Client) annotations(ctx context.Context, owner, name string, id int64) (string, error) {
	list, _, err := c.api.Checks.ListCheckRunAnnotations(ctx, owner, name, id, &gh.ListOptions{PerPage: annotationsMax})
	if err != nil {
		return "", c.convert(ctx, fmt.Sprintf("the annotations of check run %d", id), err)
	}
	var b strings.Builder
	for _, a := range list[:min(len(list), annotationsMax)] {
		fmt.Fprintf(&b, "%s:%d: %s\n", plainText(a.GetPath()), a.GetStartLine(), strings.TrimSpace(plainText(a.GetMessage())))
	}
	return b.String()[:min(b.Len(), githost.FailureMax)], nil
}

// jobLog is the end of the log of a job, as far as the last error: steps that clean up follow
// it. GitHub redirects to a store of files, which is not given the token.
func (c *Client) jobLog(ctx context.Context, owner, name string, id int64) (string, error) {
	what := fmt.Sprintf("the log of job %d", id)
	req, err := c.api.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/actions/jobs/%d/logs", owner, name, id), nil)
	if err != nil {
		return "", fmt.Errorf("github: %s: %w", what, err)
	}
	resp, err := c.api.BareDo(ctx, req)
	if err == nil {
		defer resp.Body.Close()
		return tail(io.LimitReader(resp.Body, logRead)), nil
	}
	if status(err) != http.StatusFound {
		return "", c.convert(ctx, what, err)
	}
	at, err := c.api.BaseURL.Parse(resp.Header.Get("Location"))
	if err != nil || at.Scheme != "https" && at.Scheme != c.api.BaseURL.Scheme {
		return "", unreadable(what)
	}
	return c.file(ctx, what, at.String())
}

// plain makes the HTTP client that reads files from where GitHub has redirected to.
func plain(given *http.Client) *http.Client {
	out := &http.Client{Timeout: 30 * time.Second}
	if given != nil {
		out.Transport, out.Timeout = given.Transport, given.Timeout
	}
	return out
}

// file reads the end of a file. Its address is as good as a password.
func (c *Client) file(ctx context.Context, what, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", unreadable(what)
	}
	resp, err := c.files.Do(req)
	if err != nil {
		err = restclient.Bare(err)
		return "", &Error{Service: service, What: what + ": " + err.Error(), Again: true, Cause: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", &Error{Service: service, Status: resp.StatusCode, What: what + ": " + resp.Status}
	}
	return tail(io.LimitReader(resp.Body, logRead)), nil
}

// stamp is the moment at the beginning of a line of a job's log.
var stamp = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T[0-9:.]+Z `)

// tail is the end of a log as far as its last error.
func tail(log io.Reader) string {
	const mark = "##[error]"
	var lines, upToError []string
	from := bufio.NewReaderSize(log, lineMax)
	for err := error(nil); err == nil || errors.Is(err, bufio.ErrBufferFull); { // what is longer goes on in the next line
		var raw []byte
		raw, err = from.ReadSlice('\n')
		text := strings.TrimPrefix(strings.TrimRight(string(raw), "\r\n"), "\ufeff")
		line := plainText(stamp.ReplaceAllString(text, ""))
		if lines = append(lines, line); len(lines) > logLines {
			lines = lines[1:]
		}
		if strings.Contains(line, mark) {
			upToError = slices.Clone(lines)
		}
	}
	if len(upToError) > 0 {
		lines = upToError
	}
	text := strings.Join(lines, "\n")
	return strings.ToValidUTF8(text[max(0, len(text)-logMax):], "")
}

// escapes are the control sequences of terminals.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-_])")

// plainText is a text without control sequences and characters that are not seen.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(text, ""))
}

// LineComments implements githost.Details.
func (c *Client) LineComments(ctx context.Context, repo, branch, base string) ([]githost.LineComment, error) {
	pr, err := c.PullRequest(ctx, repo, branch, base)
	if restclient.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	what := "the comments of pull request " + strconv.FormatInt(pr.Number, 10)
	list, _, err := c.api.PullRequests.ListComments(ctx, owner, name, int(pr.Number), &gh.PullRequestListCommentsOptions{
		Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: githost.LineCommentsMax},
	})
	if err != nil {
		return nil, c.convert(ctx, what, err)
	}
	if list == nil {
		return nil, unreadable(what)
	}
	var out []githost.LineComment
	for _, k := range slices.Backward(list[:min(len(list), githost.LineCommentsMax)]) {
		thread := strconv.FormatInt(cmp.Or(k.GetInReplyTo(), k.GetID()), 10)
		line := githost.LineComment{Path: plainText(k.GetPath()), Line: k.GetLine(), Old: k.GetSide() == "LEFT", Review: githost.Review{
			ID:     thread,
			Author: k.GetUser().GetLogin(), SHA: k.GetCommitID(), Body: plainText(k.GetBody()), At: k.GetCreatedAt().Time,
		}}
		if err := c.weigh(ctx, repo, pr, k.GetUser(), k.GetAuthorAssociation(), &line.Review); err != nil {
			return nil, err
		}
		line.State = githost.ReviewCommented
		out = append(out, line)
	}
	return out, nil
}
