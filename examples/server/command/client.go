package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// client is the part of commands that calls a running server.
type client struct {
	Server string `aliases:"url" help:"Address of the running server; default: $SIGNALBOX_URL, else ORCH_LISTEN here." placeholder:"URL"`
}

const (
	answerMax = 64 << 20 // what is read of an answer
	callTime  = 15 * time.Second
)

// The environment of commands that call a server: its address, and the token of the person who
// uses them; unset: ORCH_ADMIN_TOKEN, for a server on this machine. A name, else the account's, is shown beside a token that
// several have, and proves nothing.
const (
	serverVariable = "SIGNALBOX_URL"
	tokenVariable  = "SIGNALBOX_TOKEN"
	nameVariable   = "SIGNALBOX_NAME"
)

// open makes a request with the person's token, if there is one. What the server refuses is an
// exitError. The body of the answer is the caller's to close.
func (c client) open(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return nil, err
	}
	named := cmp.Or(c.Server, os.Getenv(serverVariable))
	over, base := settings.Client()
	if named != "" {
		over, base = http.DefaultClient, named
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, bytes.NewReader(payload))
	if err != nil || req.URL.Host == "" {
		err = fmt.Errorf("--server or %s: %q is no address, want one such as https://box.example.org", serverVariable, base)
		return nil, &exitError{exitUsage, err}
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	token := os.Getenv(tokenVariable)
	if token == "" && isHere(named, req.URL.Host) { // it is the secret of this machine's server
		token = settings.AdminToken.Reveal()
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		req.AddCookie(&http.Cookie{Name: access.NameCookie, Value: url.QueryEscape(cmp.Or(os.Getenv(nameVariable), account()))})
	}
	resp, err := over.Do(req)
	if err != nil {
		err = fmt.Errorf("the server %s does not answer; is it running? (--server and %s name another) %w", base, serverVariable, err)
		return nil, &exitError{exitUnreachable, err}
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp, token != "")
}

// account is the name of who runs the command; empty: this machine does not have it.
func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// isHere reports whether a request goes to this machine: none was named, or one of its own addresses.
func isHere(named, host string) bool { return named == "" || access.IsLoopback(host) }

// refusal is the error of an answer that is none of success.
func refusal(resp *http.Response, sent bool) error {
	var p web.Problem
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil || json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		p.Detail = "the server answered " + resp.Status
	}
	out := &exitError{exitFailed, fmt.Errorf("%s", p.Detail)}
	switch resp.StatusCode {
	case http.StatusNotFound:
		out.code = exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests:
		out.code = exitRefused
	}
	if resp.StatusCode == http.StatusUnauthorized && sent {
		out.err = fmt.Errorf("%w (the token is that of %s, else of ORCH_ADMIN_TOKEN)", out.err, tokenVariable)
	} else if resp.StatusCode == http.StatusUnauthorized {
		out.err = fmt.Errorf("%w (commands send the token of %s)", out.err, tokenVariable)
	}
	return out
}

// call makes a request and decodes the answer.
func (c client) call(method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	resp, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// get decodes what there is at a path.
func (c client) get(path string, into any) error { return c.call(http.MethodGet, path, nil, into) }

// find is the id of a task that is named by it or by its work item, in letters of either
// case: the newest one, a cancelled one if there is no other. Of two repositories it is none.
func (c client) find(name string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return id, nil
	}
	var list web.TaskList
	item := strings.ReplaceAll(strings.ToUpper(name), "-UNDO", "-undo") // GPX-7-undo
	path := "/tasks?cancelled=true&limit=1000&work_item=" + url.QueryEscape(item)
	if err := c.get(path, &list); err != nil {
		return 0, err
	}
	var found web.TaskView
	for _, t := range list.Tasks {
		if found.ID != 0 && t.Repo != found.Repo {
			err := fmt.Errorf("%s is task %d of %s and task %d of %s: write the id of one", name, found.ID, found.Repo, t.ID, t.Repo)
			return 0, &exitError{exitUsage, err}
		}
		if found.ID == 0 || t.Stage != stage.Cancelled || found.Stage == stage.Cancelled {
			found = t
		}
	}
	return found.ID, orMissing(found.ID != 0, nil, "there is no task %q", name)
}

// item is find, with the work item id of the task for people.
func (c client) item(name string) (id int64, key string, err error) {
	if id, err = c.find(name); err != nil {
		return 0, "", err
	}
	var t web.TaskView
	err = c.get(fmt.Sprintf("/tasks/%d", id), &t)
	return id, t.WorkItemID, err
}

// What the program ends with.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRefused     = 4
	exitUnreachable = 5
	exitDiffers     = 6
	exitUnknown     = 7
)

// exits says what each of them means, for the manual page.
const exits = "0 when it was done; 1 when not; 2 when the command line is wrong; 3 when there is no such thing; " +
	"4 when it was refused: the right is missing, or it cannot be done as things stand; 5 when the server does not answer; " +
	"6 when another policy decides otherwise; 7 when that is not known of all decisions."

// exitError is an error with the code that the program ends with.
type exitError struct {
	code int
	err  error
}

// Error is the error's.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap is the error.
func (e *exitError) Unwrap() error { return e.err }

// orMissing is the error of what was looked for, or that there is no such thing.
func orMissing(found bool, err error, format string, args ...any) error {
	if err == nil && !found {
		err = &exitError{exitNotFound, fmt.Errorf(format, args...)}
	}
	return err
}

// exitCode returns the exit code of the program for an error.
func exitCode(err error) int {
	var with *exitError
	if errors.As(err, &with) {
		return with.code
	}
	return exitFailed
}

// output is the part of commands that print something, for people or for programs.
type output struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// say prints a value as JSON, or what it is to people.
func (o output) say(w io.Writer, v any, format string, args ...any) error {
	return o.print(w, v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

// print prints a value as JSON, or as people prints it.
func (o output) print(w io.Writer, v any, people func(io.Writer) error) error {
	if !o.JSON {
		return people(steady{w})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
