package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

func Example() {
	token := secret.New("xoxb-1234")
	fmt.Println(token, len(token.Reveal()), token.IsSet(), secret.String{}.IsSet())
	// Output: *** 9 true false
}

// No way of printing shows the value, be it alone, in a field or behind a pointer.
func TestNothingPrintsIt(t *testing.T) {
	s := secret.New("the-value-itself")
	type exported struct{ Token secret.String }
	type hidden struct{ token secret.String }
	values := []any{s, &s, exported{s}, &exported{s}, hidden{s}, &hidden{s}, []secret.String{s}, map[string]secret.String{"k": s}, map[string]any{"k": &s}, fmt.Errorf("no: %v", s)}
	var out bytes.Buffer
	for _, v := range values {
		for _, verb := range []string{"%v", "%s", "%+v", "%#v", "%q", "%x", "%X", "%d", "%10.3s", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		body, err := json.Marshal(v)
		require.NoError(t, err)
		out.Write(body)
		for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			log.Info("m", "v", v, slog.Group("g", "v", v))
		}
	}
	body, err := xml.Marshal(exported{s})
	require.NoError(t, err)
	out.Write(body)
	require.NotContains(t, out.String(), "the-value")
	require.NotContains(t, out.String(), fmt.Sprintf("%x", "the-value"))
	require.Contains(t, out.String(), `{"Token":"***"}`)
	require.Contains(t, out.String(), "v=***")
}

func TestText(t *testing.T) {
	var s secret.String
	require.NoError(t, json.Unmarshal([]byte(`"from a file"`), &s))
	require.Equal(t, "from a file", s.Reveal())
	for _, empty := range []secret.String{{}, secret.New("")} {
		require.False(t, empty.IsSet())
		require.Empty(t, empty.Reveal())
		require.Empty(t, fmt.Sprint(empty), "what is not set shows that")
	}
}
