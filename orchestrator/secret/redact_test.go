package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

const odd = `p&ss"w<rd\ é/+ü?=%41>>>`

func ExampleRedactor() {
	r := secret.NewRedactor("correct horse")
	fmt.Println(r.Text(`{"q":"correct horse"} correct+horse ` + base64.StdEncoding.EncodeToString([]byte("x:correct horse"))))
	// Output: {"q":"*************"} ************* eDp*****************
}

// Every way of writing a value is found, with anything before and behind it.
func TestForms(t *testing.T) {
	for _, value := range []string{odd, "0123456789abcdef", "12345678", "ghp_AAAA/BBBB+CCCC~~~~"} {
		r := secret.NewRedactor("another-secret-entirely", value)
		asJSON, err := json.Marshal(value)
		require.NoError(t, err)
		for _, form := range []string{
			value, html.EscapeString(value), string(asJSON[1 : len(asJSON)-1]), strings.Trim(strconv.Quote(value), `"`),
			url.QueryEscape(value), url.PathEscape(value), regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.PathEscape(value), strings.ToLower),
		} {
			require.Equal(t, "a"+strings.Repeat("*", len(form))+"z", r.Text("a"+form+"z"), form)
		}
		for before := range 7 {
			for behind := range 4 {
				text := strings.Repeat("b", before) + value + strings.Repeat("e", behind)
				for _, code := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
					out := r.Text(code.EncodeToString([]byte(text)))
					require.GreaterOrEqual(t, strings.Count(out, "*"), (len(value)*8-10)/6, "%q in %q", value, text)
				}
			}
		}
	}
}

func TestWhatIsHidden(t *testing.T) {
	r := secret.NewRedactor("short", "", "signalbox", "developer", "Long-enough", "Long-enough-and-more", "enough-2o")
	require.Equal(t, "short refs/signalbox developer *********** ******************** **************", r.Text("short refs/signalbox developer Long-enough Long-enough-and-more Long-enough-2o"), "the longest counts, and what overlaps")
	given := []byte("nothing in here")
	require.Same(t, &given[0], &r.Bytes(given)[0])
	r.Hide("in here!", "nothing ")
	require.Equal(t, "********in here", string(r.Bytes(given)))
	require.Equal(t, "nothing in here", string(given))
	var none *secret.Redactor
	require.Equal(t, "Long-enough", none.Text("Long-enough"))
	require.NoError(t, none.Rewrite(nil))

	err := r.Error(fmt.Errorf("GET /bot-Long-enough: %w", fs.ErrNotExist))
	require.EqualError(t, err, "GET /bot-***********: file does not exist")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, r.Error(nil))
	plain := errors.New("plain")
	require.Same(t, plain, r.Error(plain)) //nolint:testifylint // the very same
}

func TestCredentials(t *testing.T) {
	require.ElementsMatch(t, []string{"k1", "t2", "s3", "p4", "n5", "pw6", "pw7"}, nonEmpty(secret.Credentials([]string{
		"ANTHROPIC_API_KEY=k1", "GITHUB_TOKEN=t2", "GPX_HOOK_SECRET_OLD=s3", "PGPASSWORD=p4", "npm_config__authToken=n5", "HTTPS_PROXY=http://u:pw6@h:1", "DB=postgres:///n?password=pw7",
		"PATH=/bin", "GIT_AUTHOR_NAME=Kim", "SSH_AUTH_SOCK=/s", "CREDENTIALS_DIRECTORY=/c", "ORCH_ADMIN_TOKEN_FILE=/f", "XAUTHORITY=/x", "NO_PROXY=localhost", "URL=http://h/",
	})))
}

func nonEmpty(all []string) (out []string) {
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// texts are made of secrets, of their beginnings and ends, and of other things.
func texts(seed uint64) (values []string, text string) {
	draw := rand.New(rand.NewPCG(seed, 1))
	values = []string{"AAAAAAAB", "AABAABAABAAB", "ABCDEFGHIJ", "CDEFGHIJKLMN", odd}
	for range draw.IntN(40) {
		v := values[draw.IntN(len(values))]
		switch draw.IntN(4) {
		case 0:
			text += v
		case 1:
			text += v[:draw.IntN(len(v))]
		case 2:
			text += v[draw.IntN(len(v)):]
		default:
			text += strings.Repeat("x", draw.IntN(3))
		}
	}
	return values, text
}

// In whatever pieces a text comes, what goes out is what it is as a whole, and no secret is
// ever in it on the way.
func TestStreams(t *testing.T) {
	for seed := range uint64(2000) {
		values, text := texts(seed)
		r := secret.NewRedactor(values...)
		want := r.Text(text)
		for _, v := range values {
			require.NotContains(t, want, v)
		}
		draw := rand.New(rand.NewPCG(seed, 2))
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := 1 + draw.IntN(min(len(rest), 9))
			_, err := io.WriteString(w, rest[:n])
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(want, out.String()), "seed %d: %q is not the beginning of %q", seed, out.String(), want)
			rest = rest[n:]
		}
		require.NoError(t, w.Close())
		require.Equal(t, want, out.String(), "seed %d", seed)
	}
}

// whole is a file in memory.
type whole struct{ *bytes.Reader }

func (whole) Close() error { return nil }

// From wherever a file is read, each byte is what it is in the whole; only an end that
// may begin a secret is hidden too.
func TestReader(t *testing.T) {
	for seed := range uint64(500) {
		values, text := texts(seed)
		text += "x"
		r := secret.NewRedactor(values...)
		want, draw := r.Text(text), rand.New(rand.NewPCG(seed, 3))
		f := r.Reader(whole{bytes.NewReader([]byte(text))})
		at := int64(draw.IntN(len(text)))
		got, err := f.Seek(at, io.SeekStart)
		require.NoError(t, err)
		require.Equal(t, at, got)
		rest, err := io.ReadAll(io.MultiReader(io.LimitReader(f, int64(draw.IntN(20))), f))
		require.NoError(t, err)
		require.Equal(t, want[at:], string(rest), "seed %d", seed)
		end, err := f.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		require.EqualValues(t, len(text), end)
	}
	r := secret.NewRedactor("ABCDEFGHIJ")
	for text, want := range map[string]string{"xx ABC": "xx ABC", "xx ABCD": "xx ****", "xx ABCDEFGHI": "xx *********"} {
		body, err := io.ReadAll(r.Reader(whole{bytes.NewReader([]byte(text))}))
		require.NoError(t, err)
		require.Equal(t, want, string(body))
	}
}

// A file is rewritten in place, across the borders of what is read at a time.
func TestRewrite(t *testing.T) {
	const value = "ABCDEFGHIJ"
	r := secret.NewRedactor(value)
	for _, before := range []int{0, 64<<10 - 11, 64<<10 - 5, 64<<10 - 1, 64 << 10, 128<<10 + 3} {
		name := filepath.Join(t.TempDir(), "log")
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("x", before)+value+"yz"), 0o600))
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, r.Rewrite(f))
		require.NoError(t, f.Close())
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, "**********yz", string(body[before:]), before)
		require.Equal(t, before, bytes.Count(body, []byte("x")))
	}
}

func BenchmarkBytes(b *testing.B) {
	var values []string
	for i := range 20 {
		values = append(values, fmt.Sprintf("ghp_%d_%x", i, rand.Uint64()))
	}
	r := secret.NewRedactor(values...)
	text := []byte(strings.Repeat(`{"level":"INFO","msg":"the github token of a ghost ghp_ was rotated","task":12}`+"\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}
