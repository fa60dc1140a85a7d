//go:build linux

package jail_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Who may go out by a proxy alone has no other way: no port of this machine or elsewhere, no
// datagrams. In a box the proxy's port leads to a socket outside; without one it is the port
// itself, and what else has its number is open.
func TestProxied(t *testing.T) {
	for _, kind := range jailtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			box := boxOf(t, kind)
			proof, err := jail.Prove(t.Context(), []string{"/proc/self/exe", "shim"}, t.TempDir(), jailtest.System(box).And(work.Jail{Proxied: true}))
			require.NoError(t, err)
			require.Empty(t, proof.Weak)
			proxied(t, box)
			fmt.Printf("jail: %s, %s: a proxy is the only way out\n", kind, as())
		})
	}
}

func proxied(t *testing.T, box work.Box) {
	said := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached by ", r.Host) })
	direct, way := httptest.NewServer(said), httptest.NewUnstartedServer(said)
	datagrams, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := uint16(way.Listener.Addr().(*net.TCPAddr).Port)
	own := t.TempDir()
	self := program(t)
	j := jailtest.System(box).And(work.Jail{Write: []string{own}, Read: []string{self}, Proxied: true, Ports: []work.Ports{{First: port, Last: port}}})
	if box.Kind != "" {
		require.NoError(t, way.Listener.Close())
		socket := filepath.Join(t.TempDir(), "socket")
		way.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
		require.NoError(t, err)
		j.Relays = []work.Relay{{Port: port, Socket: socket}}
	}
	way.Start()
	t.Cleanup(func() { direct.Close(); way.Close(); _ = datagrams.Close() })
	for _, program := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			jailtest.Skip(t, program, err)
		}
	}
	script := fmt.Sprintf(`curl -sS -m 9 http://127.0.0.1:%d/ || exit 3
curl -sS -m 9 %s/ 2>/dev/null && exit 4
{ echo leaked >/dev/udp/127.0.0.1/%d; } 2>/dev/null && echo " sent"
ls -l /proc/$PPID/fd >/dev/null 2>&1 && exit 5
kill -0 $PPID 2>/dev/null && exit 6
(for i in 1 2 3 4 5; do curl -sS -m 9 -o /dev/null http://127.0.0.1:%d/ & done; wait) || exit 7
exit 9`, port, direct.URL, datagrams.LocalAddr().(*net.UDPAddr).Port, port)
	exit, out := runs(t, &j, []string{"PATH=" + os.Getenv("PATH")}, which(t, "bash"), "-c", script)
	require.Equal(t, 9, exit, "the program's own: %s", out)
	require.Contains(t, out, fmt.Sprintf("reached by 127.0.0.1:%d", port))
	require.Equal(t, box.Kind != "", strings.Contains(out, " sent"), "without a network of its own there is no UDP: %s", out)
	_, err = datagrams.WriteTo([]byte("ours"), datagrams.LocalAddr())
	require.NoError(t, err)
	first := make([]byte, 10)
	n, _, err := datagrams.ReadFrom(first)
	require.NoError(t, err)
	require.Equal(t, "ours", string(first[:n]), "nothing has come out")
	if box.Kind != "" {
		exit, _ = runs(t, &j, []string{"PATH=" + os.Getenv("PATH")}, which(t, "bash"), "-c", "kill -9 $$")
		require.Equal(t, 137, exit, "the relay passes on how the program ended")
	}
}

func which(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	return path
}
