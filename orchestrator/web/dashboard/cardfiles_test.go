package dashboard_test

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/markdown"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const png = "\x89PNG\r\n\x1a\n\x00\xff"

// formOf is a form with files, as a browser sends it; names go in as they are.
func formOf(t *testing.T, files ...[2]string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + f[0] + `"`}, "Content-Type": {"text/html"}})
		require.NoError(t, err)
		_, err = part.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.String()
}

// send posts a body that is no form of texts.
func (d *desk) send(path, kind string, body io.Reader, header ...string) answer {
	d.Helper()
	r := httptest.NewRequest(http.MethodPost, "/x"+path, body)
	r.RemoteAddr, r.Host = d.from, "127.0.0.1:8080"
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+d.bearer)
	r.AddCookie(&http.Cookie{Name: access.NameCookie, Value: "Kim"})
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	rec := httptest.NewRecorder()
	http.StripPrefix("/x", d.pages).ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

func (d *desk) files(card string) []cards.File {
	d.Helper()
	s, err := d.board.Story(d.Context(), card[strings.LastIndex(card, "/")+1:])
	require.NoError(d, err)
	return s.Files
}

// Files are added by a form of the card's page. A browser shows raster images, by what is in them, and saves all else; nothing
// of a file is a page of ours. Who may not read the card reads none of its files.
func TestFilesAreServed(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	kind, body := formOf(t, [2]string{"shot.html", png}, [2]string{"poly.png", "GIF89a/*<html><script>alert(1)</script>*/"}, [2]string{"x.png", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"},
		[2]string{"page.gif", "<!doctype html><script>alert(1)</script>"}, [2]string{"../../../etc/passwd", "root"}, [2]string{`a\"b%0d%0aX-Evil: 1;é.pdf`, "%PDF-1.4"}, [2]string{"", "nothing is chosen here"})
	a := d.send(card+"/files", kind, strings.NewReader(body))
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Contains(t, a.header.Get("Location"), card[1:]+"?said=attached#files")
	require.Len(t, d.files(card), 6)
	page := d.request(http.MethodGet, card, nil, "Cookie", access.NameCookie+"=Kim").body
	require.Contains(t, page, `enctype="multipart/form-data" action="../../`+card[1:]+`/files"`)
	require.Contains(t, page, "added the file passwd")
	for n, want := range [][3]string{
		{"shot.html", "image/png", "inline"}, {"poly.png", "image/gif", "inline"}, {"x.png", "", ""}, {"page.gif", "", ""}, {"passwd", "", ""}, {`a"b%0d%0aX-Evil: 1;é.pdf`, "", ""},
	} {
		f := d.files(card)[n]
		require.Contains(t, page, `href="../../`+card[1:]+"/files/"+f.ID+`"><bdi>`+template.HTMLEscapeString(want[0]))
		a := d.request(http.MethodGet, card+"/files/"+f.ID, nil)
		require.Equal(t, http.StatusOK, a.status)
		how, params, err := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		require.NoError(t, err)
		if want[1] == "" {
			want[1], want[2] = "application/octet-stream", "attachment"
		}
		require.Equal(t, want[:], []string{params["filename"], a.header.Get("Content-Type"), how})
		require.Equal(t, []string{"sandbox; default-src 'none'", "nosniff", "same-origin", "no-store"}, []string{
			a.header.Get("Content-Security-Policy"), a.header.Get("X-Content-Type-Options"), a.header.Get("Cross-Origin-Resource-Policy"), a.header.Get("Cache-Control"),
		})
		require.Empty(t, a.header.Get("X-Evil"))
		require.Len(t, a.body, int(f.Size))
	}

	first := "/files/" + d.files(card)[0].ID
	require.Equal(t, http.StatusNotFound, d.request(http.MethodGet, d.made("two")+first, nil).status, "it is of another card")
	for _, wrong := range []string{"/files/none", "/files/..%2f..%2fx", "/files/" + url.PathEscape("' or 1=1 --")} {
		require.Equal(t, http.StatusNotFound, d.request(http.MethodGet, card+wrong, nil).status, wrong)
	}
	pages := handler(t, dashboard.Options{Engine: d.engine, History: d.store, Access: access.New(access.Options{AdminToken: token}), Cards: d.board})
	d.pages, d.bearer, d.cookie, d.from = pages, "", nil, "192.0.2.1:1"
	for _, path := range []string{card, card + first} {
		a := d.request(http.MethodGet, path, nil)
		require.Equal(t, http.StatusUnauthorized, a.status)
		require.NotContains(t, a.body, "PNG")
	}
	require.Equal(t, http.StatusUnauthorized, d.send(card+"/files", kind, strings.NewReader(body)).status)
	d.bearer = token
	require.Equal(t, http.StatusForbidden, d.send(card+"/files", kind, strings.NewReader(body), "Sec-Fetch-Site", "cross-site").status)
	require.Len(t, d.files(card), 6)
}

// counted counts what is read of a body that has no end of its own.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A body that is too much, in bytes or parts, or that ends early is read no further than has to be, and said to be wrong.
func TestHostileUploads(t *testing.T) {
	d := signedIn(t)
	var card string
	kind, body := formOf(t, [2]string{"a.png", png}, [2]string{"b.png", png})
	head, _, _ := strings.Cut(body, png)
	var many [][2]string
	for n := range 10_000 {
		many = append(many, [2]string{fmt.Sprint(n), fmt.Sprint(n)})
	}
	manyKind, manyBody := formOf(t, many...)
	_, boundary, _ := strings.Cut(kind, "boundary=")
	nameless := strings.Repeat("--"+boundary+"\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n", 10_000) + "--" + boundary + "--\r\n"
	for name, c := range map[string]struct {
		kind  string
		body  io.Reader
		words string
		added int
		most  int64
	}{
		"1 GB in one file":    {kind, io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, 1<<30)), "larger than 5 MiB", 0, 6 << 20},
		"1 GB in a part":      {kind, io.MultiReader(strings.NewReader(strings.Replace(head, "filename", "file", 1)), io.LimitReader(zeros{}, 1<<30)), "The rest has not come", 0, 22 << 20},
		"1 GB of a header":    {kind, io.MultiReader(strings.NewReader("--"+boundary+"\r\nX: "), io.LimitReader(strings.NewReader(strings.Repeat("x", 30<<20)), 30<<20)), "The rest has not come", 0, 22 << 20},
		"10,000 files":        {manyKind, strings.NewReader(manyBody), "one too many", 20, 1 << 20},
		"10,000 other parts":  {kind, strings.NewReader(nameless), "too many files at once", 0, 1 << 20},
		"it ends early":       {kind, strings.NewReader(body[:len(body)-len(boundary)-40]), "1 are on the card. The rest has not come", 1, 1 << 20},
		"nothing is chosen":   {kind, strings.NewReader("--" + boundary + "--\r\n"), "No file is chosen", 0, 1 << 20},
		"no form":             {"application/x-www-form-urlencoded", strings.NewReader("file=x"), "no files", 0, 1 << 20},
		"without a boundary":  {"multipart/form-data", strings.NewReader(body), "no files", 0, 1 << 20},
		"one that is empty":   {kind, strings.NewReader(strings.ReplaceAll(body, png, "")), "is empty", 0, 1 << 20},
		"a name over a line":  {kind, strings.NewReader(strings.Replace(body, "a.png", "a\r\nX-Evil: 1\r\n\r\n.png", 1)), "", -1, 1 << 20},
		"of no card any more": {kind, strings.NewReader(body), "no such card", 0, 1 << 20},
	} {
		at := d.made(name)
		if name == "of no card any more" {
			card, at = at, "/board/cards/none"
		} else {
			card = at
		}
		read := &counted{Reader: c.body}
		a := d.send(at+"/files", c.kind, read)
		if c.added >= 0 {
			require.GreaterOrEqual(t, a.status, 400, name)
			require.Contains(t, a.body, c.words, name)
			require.Len(t, d.files(card), c.added, name)
		}
		require.Less(t, a.status, 500, name)
		require.LessOrEqual(t, read.n, c.most, name)
	}
}

// Who has put a file on a card removes it, and an administrator; nobody else does.
func TestFilesAreRemoved(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	id := card[strings.LastIndex(card, "/")+1:]
	kind, body := formOf(t, [2]string{"a.png", png})
	require.Equal(t, http.StatusSeeOther, d.send(card+"/files", kind, strings.NewReader(body)).status)
	theirs, err := d.board.Attach(t.Context(), cards.Attachment{ID: id, Name: "b", Body: []byte("b"), By: cards.Person{Name: "Lee", Proof: "token"}})
	require.NoError(t, err)
	operator := access.New(access.Options{AdminToken: "another"})
	given, secret, err := access.NewToken("kim", access.Grant{Role: access.Operator}, d.engine.Now(), d.engine.Now().AddDate(1, 0, 0))
	require.NoError(t, err)
	_, err = operator.Store.AddToken(t.Context(), given)
	require.NoError(t, err)
	admin := d.pages
	d.pages = handler(t, dashboard.Options{Engine: d.engine, History: d.store, Access: operator, Cards: d.board})
	d.bearer = secret
	require.NotContains(t, d.request(http.MethodGet, card, nil).body, card+"/files/"+theirs.ID+`"><button`)
	a := d.post(card+"/files/"+theirs.ID, url.Values{})
	require.Equal(t, http.StatusForbidden, a.status)
	require.Contains(t, a.body, "only who has put a file on a card removes it")
	d.pages, d.bearer = admin, token
	require.Contains(t, d.request(http.MethodGet, card, nil).body, card[1:]+"/files/"+theirs.ID+`"><button`)
	for range 2 {
		d.post(card+"/files/"+theirs.ID, url.Values{"name": {"Kim"}})
	}
	require.Len(t, d.files(card), 1)
	require.Contains(t, d.request(http.MethodGet, card, nil).body, "removed the file b")
}

// A text of a card shows images that are on cards, from there; other texts name what they would show.
func TestTextsShowImages(t *testing.T) {
	d := signedIn(t)
	d.pages = handler(t, dashboard.Options{Engine: d.engine, History: d.store, Access: access.New(access.Options{AdminToken: token, Local: true}), Cards: d.board, Markdown: markdown.Render})
	card := d.made("one")
	file := strings.Repeat("0a", 16)
	other := "board/cards/abcdefghijklmnopqrstuvwxyz/files/" + file
	text := "![my \"shot\" <b>](files/" + file + ") ![o](/dashboard/" + other + ") ![far](https://evil.example.org/" + other + ") ![up](../../tasks/1/stop) ![](//evil.example.org/" + other + ")"
	require.Equal(t, http.StatusSeeOther, d.post(card+"/say", url.Values{"key": {"k"}, "body": {text}}).status)
	page := d.request(http.MethodGet, card, nil).body
	var tags []string
	for _, tag := range regexp.MustCompile(`<img[^>]*>`).FindAllString(page, -1) {
		tags = append(tags, strings.ReplaceAll(tag, ` loading="lazy"`, ""))
	}
	require.Equal(t, []string{
		`<img src="../../` + card[1:] + `/files/` + file + `" alt="my &#34;shot&#34; ">`, `<img src="../../` + other + `" alt="o">`, `<img src="../../` + other + `" alt="">`,
	}, tags)
	require.Contains(t, page, `href="https://evil.example.org/`+other+`">image: far</a>`)
}
