package web_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Programs put files on cards and remove those of their own, an administrator removes any; what is too large is refused with
// the bound.
func TestFilesByTheAPI(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	call := d.card(t)
	key := call(access.Operator, "POST", "/cards", `{"board": "app", "title": "x"}`, 200).Key
	at := "/cards/" + key + "/files"
	body := func(name string, n int) string {
		return fmt.Sprintf(`{"name": %q, "content": %q}`, name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", n))))
	}
	call(access.Viewer, "POST", at, body("a.txt", 1), 403)
	for range 2 {
		got := call(access.Operator, "POST", at, body("../a.txt", 3), 200).Files
		require.Len(t, got, 1)
		require.Equal(t, []any{"a.txt", "text/plain", int64(3), "the-operator"}, []any{got[0].Name, got[0].Type, got[0].Size, got[0].By})
	}
	require.Len(t, call(access.Operator, "POST", at, body("whole", cards.FileMax), 200).Files, 2, "the bound of the row has room for it")
	for _, wrong := range []string{body("large", cards.FileMax+1), body("empty", 0), `{"name": "a", "content": "???"}`, `{"name": "a", "contents": ""}`, body("much", 20<<20)} {
		call(access.Operator, "POST", at, wrong, 400)
	}
	id := call(access.Viewer, "GET", "/cards/"+key, "", 200).Files[0].ID
	call(access.Operator, "DELETE", at+"/none", "", 400)
	call(access.Approver, "DELETE", at+"/"+id, "", 403)
	require.Len(t, call(access.Admin, "DELETE", at+"/"+id, "", 200).Files, 1)
}
