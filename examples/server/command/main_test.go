package command

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test's own program be the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func server(args ...string) (int, string) {
	var out bytes.Buffer
	return Run(args, &out, &out), out.String()
}

// The token of this machine's server is not sent elsewhere.
func TestIsHere(t *testing.T) {
	require.True(t, isHere("", ":8080"))
	require.False(t, isHere("http://box.example.org", "box.example.org"))
}
