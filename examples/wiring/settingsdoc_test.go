package wiring

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/settings.md")

// docs/settings.md has every setting as it is; -update writes the table.
func TestSettingsInTheDocs(t *testing.T) {
	const file, begin, end = "../../docs/settings.md", "<!-- settings: made by go test ./examples/wiring -run TestSettingsInTheDocs -update -->\n", "<!-- end of settings -->\n"
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(body), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	var table strings.Builder
	table.WriteString("\n| setting | default | meaning |\n|---|---|---|\n")
	live := (&Service{}).liveSettings()
	for _, s := range List([]string{configVariable + "=" + noConfig}) {
		mark, value := "", ""
		if _, ok := live[s.Name]; ok {
			mark = " ↻"
		}
		if s.Secret {
			mark += " (secret)"
		}
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&table, "| `%s`%s | %s | %s |\n", s.Name, mark, value, strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(s.Doc))
	}
	want := before + begin + table.String() + "\n" + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	require.Equal(t, want, string(body), "go test ./examples/wiring -run TestSettingsInTheDocs -update")

	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(before, -1) {
		example := filepath.Join(t.TempDir(), "signalbox.yaml")
		require.NoError(t, os.WriteFile(example, []byte(block[1]), 0o600))
		_, err := Load([]string{configVariable + "=" + example, Prefix + "PROXY_USER_HEADER=X-User", Prefix + "PROXY_USERS_FROM=127.0.0.1/32"})
		require.NoError(t, err)
	}
}
