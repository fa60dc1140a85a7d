package telegramtest_test

import (
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type reply struct {
	OK          bool
	ErrorCode   int `json:"error_code"`
	Description string
	Result      json.RawMessage
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
		MigrateTo  int `json:"migrate_to_chat_id"`
	}
}

// call sends a body to a method of the bot 7:t.
func call(t *testing.T, api *telegramtest.Server, method, kind, body string) (r reply) {
	t.Helper()
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/bot7:t/"+method, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	api.ServeHTTP(w, req)
	answer, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &r))
	if !r.OK {
		require.Equal(t, w.Code, r.ErrorCode)
	}
	return r
}

func json7(t *testing.T, api *telegramtest.Server, method, body string) reply {
	t.Helper()
	return call(t, api, method, "application/json; charset=utf-8", body)
}

func TestLifeOfAMessage(t *testing.T) {
	t.Parallel()
	api := telegramtest.New("7:t")
	require.True(t, json7(t, api, "getMe", `{}`).OK)
	sent := json7(t, api, "sendMessage", `{"chat_id":-5,"text":"<b>a</b> &amp; b","parse_mode":"HTML","disable_notification":true,"link_preview_options":{"is_disabled":true}}`)
	require.True(t, sent.OK)
	require.Contains(t, string(sent.Result), `"text":"a \u0026 b"`)
	multi := "--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n-5\r\n--x\r\nContent-Disposition: form-data; name=\"message_id\"\r\n\r\n1\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nnew\r\n--x--\r\n"
	require.True(t, call(t, api, "editMessageText", "multipart/form-data; boundary=x", multi).OK)
	require.Contains(t, call(t, api, "editMessageText", "multipart/form-data; boundary=x", multi).Description, "message is not modified")
	got := api.Messages()
	require.Len(t, got, 1)
	require.Equal(t, telegramtest.Message{
		ID: 1, Chat: "-5", Text: "new", Silent: true, Edits: 1, Before: []string{"<b>a</b> &amp; b"}, At: got[0].At,
	}, got[0])
	require.Contains(t, json7(t, api, "editMessageText", `{"chat_id":-6,"message_id":1,"text":"x"}`).Description, "not found", "another chat's")
	require.True(t, json7(t, api, "deleteMessage", `{"chat_id":-5,"message_id":1}`).OK)
	require.Contains(t, json7(t, api, "deleteMessage", `{"chat_id":-5,"message_id":1}`).Description, "not found")
	require.Empty(t, api.Messages())
	require.Equal(t, 3, api.Calls("editMessageText"))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	api := telegramtest.New("7:t")
	for body, want := range map[string]string{
		`{"chat_id":1,"text":" "}`: "text is empty",
		`{"text":"x"}`:             "chat_id is empty",
		`{"chat_id":1,"text":"` + strings.Repeat("🚦", 2049) + `"}`:      "too long",
		`{"chat_id":1,"parse_mode":"HTML","text":"<b>x"}`:               "end tag",
		`{"chat_id":1,"parse_mode":"HTML","text":"<b><i>x</b></i>"}`:    "unmatched end tag",
		`{"chat_id":1,"parse_mode":"HTML","text":"<script>x</script>"}`: "unsupported start tag",
		`{"chat_id":1,"parse_mode":"HTML","text":"a < b"}`:              "unsupported start tag",
		`{"chat_id":1,"parse_mode":"HTML","text":"a & b"}`:              "unescaped",
		`{"chat_id":1,"parse_mode":"HTML","text":"</b>"}`:               "unmatched end tag",
		`{"chat_id":1,"parse_mode":"HTML","text":"<b></b>"}`:            "text is empty",
		`not json`: "can't parse the request",
	} {
		r := json7(t, api, "sendMessage", body)
		require.Equal(t, 400, r.ErrorCode, body)
		require.Contains(t, r.Description, want, body)
	}
	require.Empty(t, api.Messages())
	require.Equal(t, 404, json7(t, api, "banChatMember", `{}`).ErrorCode)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bot8:t/getMe", nil))
	require.Equal(t, 401, w.Code)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	api := telegramtest.New("7:t")
	api.SetRetryAfter(9)
	api.Fail(telegramtest.TooMany)
	r := json7(t, api, "sendMessage", `{"chat_id":1,"text":"x"}`)
	require.Equal(t, []int{429, 9}, []int{r.ErrorCode, r.Parameters.RetryAfter})
	require.True(t, json7(t, api, "sendMessage", `{"chat_id":1,"text":"x"}`).OK)
	api.Upgrade("1", -10022)
	r = json7(t, api, "sendMessage", `{"chat_id":1,"text":"x"}`)
	require.Equal(t, []int{400, -10022}, []int{r.ErrorCode, r.Parameters.MigrateTo})
	require.True(t, json7(t, api, "sendMessage", `{"chat_id":-10022,"text":"x"}`).OK)
}

// A client whose body ends after its form, and that then goes away, is not waited
// for for ever.
func TestHangEndsWithItsClient(t *testing.T) {
	t.Parallel()
	api := telegramtest.New("7:t")
	api.Fail(telegramtest.HangBefore)
	srv := httptest.NewServer(api)
	body, end := io.Pipe()
	form := multipart.NewWriter(end)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/bot7:t/sendMessage", body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	answered := make(chan error, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- err
	}()
	require.NoError(t, form.WriteField("chat_id", "7"))
	require.NoError(t, form.Close())
	time.Sleep(20 * time.Millisecond) // the form is read, the body not
	require.NoError(t, end.Close())
	require.Eventually(t, func() bool { return api.Calls("sendMessage") == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-answered, context.Canceled)
	closed := make(chan struct{})
	go func() { srv.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		require.Fail(t, "a call of a client that has gone away never ends")
	}
}
