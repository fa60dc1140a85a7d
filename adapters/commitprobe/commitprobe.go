// Package commitprobe reads from a deployment which commit it runs.
package commitprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// bodyMax is how much of an answer is read, in bytes.
const bodyMax = 64 << 10

// answerMax is how long one answer may take.
const answerMax = 10 * time.Second

var commitForm = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// Reader reads probes. It is safe for concurrent use.
type Reader struct{ http *http.Client }

// New makes a reader; client may be nil. Redirects to another host are refused: what
// answers there is not the deployment.
func New(client *http.Client) *Reader {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.Timeout = answerMax
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if first := via[0].URL; req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
			return fmt.Errorf("it leads to another host, %s", req.URL.Host)
		}
		if len(via) > 3 {
			return errors.New("it redirects again and again")
		}
		return nil
	}
	return &Reader{http: &own}
}

// Commit reads an address, whose fragment names the field of a JSON object that holds the
// commit ("https://example.org/version#build.commit"); without one the whole body is the
// commit. It is in lower case, and has 7 to 64 hexadecimal digits.
func (r *Reader) Commit(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	field := u.Fragment
	u.Fragment = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Cache-Control", "no-cache")
	res, err := r.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", u.Redacted(), res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, bodyMax+1))
	switch {
	case err != nil:
		return "", err
	case len(body) > bodyMax:
		return "", fmt.Errorf("%s answers with more than %d bytes", u.Redacted(), bodyMax)
	}
	text := string(body)
	if field != "" {
		if text, err = fieldOf(body, field); err != nil {
			return "", fmt.Errorf("%s: %w", u.Redacted(), err)
		}
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if !commitForm.MatchString(text) {
		return "", fmt.Errorf("%s answers with %.40q, want a commit of 7 to 64 hexadecimal digits", u.Redacted(), text)
	}
	return text, nil
}

// fieldOf is a string in an object, by the names on the way to it, with dots between them.
func fieldOf(body []byte, field string) (string, error) {
	var at any
	if err := json.Unmarshal(body, &at); err != nil {
		return "", fmt.Errorf("no JSON with the field %s: %w", field, err)
	}
	for name := range strings.SplitSeq(field, ".") {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	text, ok := at.(string)
	if !ok {
		return "", fmt.Errorf("the JSON has no text in the field %s", field)
	}
	return text, nil
}
