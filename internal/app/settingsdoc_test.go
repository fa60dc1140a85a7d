package app

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

var update = flag.Bool("update", false, "write docs/settings.md and docs/system-calls.txt")

// docs/settings.md lists every setting as it is; -update writes it.
func TestSettingsReference(t *testing.T) {
	const file = "../../docs/settings.md"
	var table strings.Builder
	table.WriteString("# Settings\n\n[How a setting is given, and what a reload takes](operations.md#change-settings-or-the-registry). ↻: in force at once after a reload.\n" +
		"This page is made by `go test ./internal/app -run TestSettingsReference -update`; `signalbox config` shows the values in force.\n\n" +
		"| setting | default | meaning |\n|---|---|---|\n")
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
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o644))
	}
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, table.String(), string(body), "go test ./internal/app -run TestSettingsReference -update")
}

// The settings files that docs/operations.md shows are good ones.
func TestSettingsInTheDocs(t *testing.T) {
	body, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(body), -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		example := filepath.Join(t.TempDir(), "signalbox.yaml")
		require.NoError(t, os.WriteFile(example, []byte(block[1]), 0o600))
		_, err := Load([]string{configVariable + "=" + example, Prefix + "PROXY_USER_HEADER=X-User", Prefix + "PROXY_USERS_FROM=127.0.0.1/32"})
		require.NoError(t, err)
	}
}

// docs/system-calls.txt is the table of the jail's filter, without the numbers; -update writes it.
func TestSystemCallsPage(t *testing.T) {
	calls, err := os.ReadFile("../jail/calls.txt")
	require.NoError(t, err)
	page := strings.Replace(string(calls), ", and its numbers on amd64 and arm64; - is none", "", 1)
	page = regexp.MustCompile(`=[0-9/-]+`).ReplaceAllString(page, "")
	const name = "../../docs/system-calls.txt"
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(page), 0o600))
	}
	have, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, page, string(have), "go test ./internal/app -run TestSystemCallsPage -update")
}
