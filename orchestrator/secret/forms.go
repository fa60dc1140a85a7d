package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// forms are the ways in which a value may be written; the value itself is one.
func forms(value string) []string {
	out := []string{
		value, html.EscapeString(value),
		quoted(strconv.Quote(value)), quoted(asJSON(value, true)), quoted(asJSON(value, false)),
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		out = append(out, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for _, code := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			out = append(out, within(code, value, before))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

func quoted(s string) string { return s[1 : len(s)-1] }

func asJSON(value string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(value) // a string can be encoded
	return strings.TrimSpace(b.String())
}

// within is the part of the base64 of a longer text that the value alone decides, when the
// number of bytes before it leaves a rest of before.
func within(code *base64.Encoding, value string, before int) string {
	all := code.EncodeToString(append(make([]byte, before), value...))
	return all[(before*8+5)/6 : (before+len(value))*8/6]
}

// Credentials are the values of variables whose names say that they hold some, and the
// passwords in addresses.
func Credentials(environ []string) (out []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if names.MatchString(name) && !places.MatchString(name) {
			out = append(out, value)
		}
		out = append(out, Password(value))
	}
	return out
}

var (
	names  = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(_|$)`)
	places = regexp.MustCompile(`(?i)_(FILE|DIR|DIRECTORY|PATH|SOCK|URL|CREDENTIALS)$`) // of secrets, which is none
)

// Password is the password in an address, as in postgres://user:password@host/name or
// ?password=…; empty when there is none.
func Password(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return ""
	}
	if password, ok := u.User.Password(); ok {
		return password
	}
	return u.Query().Get("password")
}
