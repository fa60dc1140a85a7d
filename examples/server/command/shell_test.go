package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// bash completes commands, their commands and their flags, by the program itself.
func TestCompletion(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "signalbox"), []byte("#!/bin/sh\nexec '"+self+"' \"$@\"\n"), 0o755))
	code, script := server("completion", "bash")
	require.Zero(t, code, script)
	for line, want := range map[string][]string{
		"signalbox res":           {"restore"},
		"signalbox deps ":         {"add", "list", "remove"},
		"signalbox tasks --st":    {"--stage"},
		"signalbox show 3 --json": {"--json"},
		"signalbox agent-":        {},
	} {
		words := strings.Split(line, " ")
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script+`COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _signalbox; printf '%s\n' "${COMPREPLY[@]}"`, "bash")
		cmd.Args = append(cmd.Args, words...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, w := range want {
			require.Contains(t, strings.Fields(string(out)), w, line)
		}
		if len(want) == 0 {
			require.Empty(t, strings.TrimSpace(string(out)), line)
		}
	}
	code, out := server("completion", "csh")
	require.Equal(t, 2, code, out)
}

// Where the shell finds no signalbox, init says how it will: go install gives the program another name.
func TestUnnamed(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	self, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Dir(self)
	link := "ln -s " + self + " " + filepath.Join(dir, "signalbox")
	require.Equal(t, "Your shell finds no signalbox yet: "+link+` && export PATH="`+dir+`:$PATH"`+"\n", unnamed())
	t.Setenv("PATH", bin+":"+dir)
	require.Equal(t, "Your shell finds no signalbox yet: "+link+"\n", unnamed())
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "signalbox")))
	require.Empty(t, unnamed())
}

// The manual page has every command that help shows.
func TestManual(t *testing.T) {
	code, page := server("man")
	require.Zero(t, code, page)
	_, help := server("--help")
	n := 0
	for line := range strings.Lines(help) {
		if name, isCommand := strings.CutPrefix(line, "  "); isCommand && name[0] >= 'a' && name[0] <= 'z' {
			n++
			require.Contains(t, page, ".SS "+strings.ReplaceAll(strings.Fields(name)[0], "-", `\-`))
		}
	}
	require.Greater(t, n, 10)
	require.Contains(t, page, `\-\-stage`)
}

// Every command has --json but those that print nothing, or what is no value; and those that
// call a server can call another one.
func TestEveryCommandIsForPrograms(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": "x"})
	require.NoError(t, err)
	without := []string{"init", "serve", "completion", "man", "token revoke", "tracks unhide", "tracks readmit"}
	calling := []string{
		"tasks", "show", "review", "queue", "costs", "report", "receipt", "logs",
		"approve", "reject", "confirm", "note", "pause", "unpause", "drain", "stop", "retry", "undo", "why",
		"card list", "card show", "card add", "card import", "card edit", "card move", "card comment", "card attach", "card answer", "deps list", "deps add", "deps remove", "unfreeze", "resume", "reload",
	}
	var all, called []string
	for _, leaf := range parser.Model.Leaves(true) {
		name := strings.TrimPrefix(leaf.Path(), parser.Model.Name+" ")
		flags := map[string]bool{}
		for _, f := range leaf.Flags {
			flags[f.Name] = true
		}
		require.NotEqual(t, slices.Contains(without, name), flags["json"], name)
		if flags["server"] {
			called = append(called, name)
		}
		all = append(all, name)
	}
	require.ElementsMatch(t, calling, called)
	require.Subset(t, all, without)
}

// A span of days has a unit or none.
func TestSpansOfDays(t *testing.T) {
	for text, want := range map[string]days{"7": 7, "7d": 7, "2w": 14} {
		var c cli
		parser, err := kong.New(&c, kong.Vars{"version": "x"})
		require.NoError(t, err)
		_, err = parser.Parse([]string{"report", "--since", text})
		require.NoError(t, err)
		require.Equal(t, want, c.Report.Days)
		_, err = parser.Parse([]string{"report", "--days", text})
		require.NoError(t, err)
	}
	for _, text := range []string{"", "0d", "week", "7h"} {
		require.Error(t, new(days).UnmarshalText([]byte(text)), text)
	}
}
