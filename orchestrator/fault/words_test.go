package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// goWords matches words of Go and its errors that mean nothing to an operator.
var goWords = regexp.MustCompile(`strconv|context|dial tcp|lookup|EOF|json|Go |exit status|fork/exec|executable file|net/http|\bGet "|Client\.|i/o|^\w+: the `)

// Errors as the libraries really give them.
func TestWords(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	defer broken.Close()
	get := func(url string) error {
		c := http.Client{Timeout: 200 * time.Millisecond}
		resp, err := c.Get(url)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	_, number := strconv.Atoi("banana")
	_, program := exec.LookPath("no-such-agent")
	var into struct{ N int }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, err := range map[string]error{
		"http://127.0.0.1:1: 127.0.0.1:1 takes no connection":      get("http://127.0.0.1:1"),
		"http://" + silent.Addr().String() + ": no answer in time": get("http://" + silent.Addr().String()),
		broken.URL + ": it broke off":                              get(broken.URL),
		`"banana" is no such value`:                                number,
		"the program no-such-agent is not installed":               program,
		"its answer: it cannot be read":                            fmt.Errorf("its answer: %w", json.Unmarshal([]byte("<html>"), &into)),
		"it: it cannot be read":                                    fmt.Errorf("it: %w", json.Unmarshal([]byte(`{"n":"x"}`), &into)),
		"interrupted":                                              ctx.Err(),
		"exit code 3":                                              exec.Command("sh", "-c", "exit 3").Run(),
		"merging pull request 2 of acme/shp: the pull request cannot be merged as it is": fmt.Errorf("github: merging pull request 2 of acme/shp: %w", githost.ErrNotMergeable),
		"the workspace: the remote branch has moved: it is not this task's":              fmt.Errorf("the workspace: %w: it is not this task's", work.ErrMoved),
		"exit code 3: no API key":                                           errors.New("exit code 3: no API key"),
		"does not work: tests & lint failed; a queue: full":                 errors.New("does not work: tests & lint failed; a queue: full"),
		filepath.Join(t.TempDir(), "agent") + ": no such file or directory": nil,
	} {
		if err == nil {
			err = exec.Command(want[:len(want)-len(": no such file or directory")]).Run()
		}
		require.Equal(t, want, fault.Words(err.Error()))
		require.NotRegexp(t, goWords, fault.Words(err.Error()))
	}
	require.NotRegexp(t, goWords, fault.Words(get("http://nothing.invalid").Error()))
}
