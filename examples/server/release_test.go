package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// programBytes bounds the released program: 43.2 MB on 2026-11-28 with Go 1.26.8, of which 19 are code, 15 the table
// that stack traces are read from. It falls with dependencies, and is not to rise unseen.
const programBytes = 44_000_000

// The released program is static, without symbols, and no larger than it was.
func TestReleasedProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the whole program")
	}
	recipe := yamlParts(t, "../../.goreleaser.yaml")[0]
	require.Equal(t, []any{"CGO_ENABLED=0"}, at(t, recipe, "builds", 0, "env"))
	require.Equal(t, []any{"-s -w"}, at(t, recipe, "builds", 0, "ldflags"))
	require.Contains(t, at(t, recipe, "builds", 0, "flags"), "-trimpath")
	program := filepath.Join(t.TempDir(), "signalbox") // as go install names it
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Dir(program)+"/", "../..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "it needs a loader of the machine")
	}
	require.Nil(t, file.Section(".symtab"))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(programBytes))
}

// The tools that make a release are of one version each, the same for the dry run, and nothing is of a version that moves.
func TestReleaseToolsPinned(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		return string(contents(t, filepath.Join("../..", name)))
	}
	makefile, release := read("Makefile"), read(".github/workflows/release.yml")
	for name, where := range map[string]string{"GORELEASER": `goreleaser-action@.*\n.*version: ([^,\s]+),`, "SYFT": `cmd/syft@([^\s]+)`} {
		want := regexp.MustCompile(`(?m)^` + name + ` := (v\d+\.\d+\.\d+)\b`).FindStringSubmatch(makefile)
		got := regexp.MustCompile(where).FindStringSubmatch(release)
		require.Len(t, want, 2, name)
		require.Len(t, got, 2, name)
		require.Equal(t, want[1], got[1], name)
	}
	workflows := matches(t, "../../.github/workflows/*.yml")
	for _, name := range workflows {
		makefile += read(name[len("../../"):])
	}
	require.NotContains(t, makefile, "@latest")
	require.Contains(t, makefile, "- run: make release-dry\n")
}

// The dry run fails where a second build of the same commit has other bytes, whoever commits meanwhile. goreleaser is a
// script here.
func TestDryRunCompares(t *testing.T) {
	script, err := filepath.Abs("packaging/dry.sh")
	require.NoError(t, err)
	for build, differs := range map[string]bool{"git rev-parse HEAD": false, "pwd": true} {
		dir, bin := t.TempDir(), t.TempDir()
		run := func(command string) (string, error) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+os.DevNull, "AT="+dir)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		commit := "git -c user.name=k -c user.email=k@example.org commit -q --allow-empty -m x"
		_, err := run("git init -q && " + commit)
		require.NoError(t, err)
		fake := "#!/bin/sh\nset -e\nmkdir -p dist/signalbox_linux_amd64_v1\n" + build + " >dist/signalbox_linux_amd64_v1/signalbox\n" +
			"for kind in tar.gz deb rpm; do cp dist/signalbox_linux_amd64_v1/signalbox dist/x.$kind; done\ncd \"$AT\" && " + commit + "\n"
		put(t, fake, bin, "goreleaser")
		require.NoError(t, os.WriteFile(filepath.Join(bin, "syft"), nil, 0o700))
		out, err := run("sh '" + script + "' '" + filepath.Join(bin, "out") + "'")
		if differs {
			require.Error(t, err)
			require.Contains(t, out, "!! two builds of one commit differ")
			continue
		}
		require.NoError(t, err, out)
		require.Contains(t, out, "two builds, one hash")
		require.FileExists(t, filepath.Join(bin, "out", "x.deb"))
	}
}
