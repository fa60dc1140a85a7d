package task_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"":                             "untitled",
		"  ":                           "untitled",
		"Cache the tiles":              "cache-the-tiles",
		"--upload-pack=sh -c evil":     "upload-pack-sh-c-evil",
		"../../etc/passwd":             "etc-passwd",
		"line one\nline two":           "line-one-line-two",
		"Кэш тайлов":                   "kesh-taylov",
		"Щедрый объём":                 "shchedryy-obyom",
		"Χάρτης πεζοπορίας":            "chartis-pezoporias",
		"Größe über Straße":            "groesse-ueber-strasse",
		"café société":                 "cafe-societe",
		"日本語":                          "untitled",
		"🚀 launch 🚀":                   "launch",
		"\u202egnp.exe\u202c":          "gnp-exe",
		"a":                            "a",
		"v1.2.3":                       "v1-2-3",
		strings.Repeat("ab ", 40):      "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab",
		strings.Repeat("a", 29) + " b": strings.Repeat("a", 29),
		strings.Repeat("щ", 10_000):    "shchshchshchshchshchshchshchsh",
	} {
		require.Equal(t, want, task.Slug(title), "%.40q", title)
	}
}

var refPart = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$`)

func FuzzSlug(f *testing.F) {
	f.Add("Cache the tiles")
	f.Add("-h")
	f.Add("ǅ İ ﬁ")
	f.Fuzz(func(t *testing.T, title string) {
		s := task.Slug(title)
		require.Regexp(t, refPart, s)
		require.NotContains(t, s, "--")
		require.Equal(t, s, task.Slug(s), "a slug of a slug is the slug")
	})
}

func TestWorkItemID(t *testing.T) {
	used := map[string]bool{"GPX-42": true, "GPX-43": true}
	taken := func(s string) bool { return used[s] }
	require.Equal(t, "GPX-7", task.WorkItemID("GPX", 7, taken))
	require.Equal(t, "GPX-44", task.WorkItemID("GPX", 42, taken))
	require.Equal(t, "GPX-1", task.WorkItemID("GPX", 0, taken))
	require.Equal(t, "GPX-1", task.WorkItemID("GPX", -5, taken))
}

func TestBranchName(t *testing.T) {
	used := map[string]bool{}
	taken := func(s string) bool { return used[s] }
	for _, want := range []string{
		"feature/GPX-42-cache",
		"feature/GPX-42-cache-gpx-42-5f0e",
		"feature/GPX-42-cache-5f0e-2",
		"feature/GPX-42-cache-5f0e-3",
	} {
		name := task.BranchName("GPX-42", "cache", "5F0E", taken)
		require.Equal(t, want, name)
		used[name] = true
	}
}

func TestTombstoneRoundTrip(t *testing.T) {
	at := time.Unix(1_780_000_000, 0)
	for _, key := range []string{"", "5f0e", "a#b", "x#cancelled-1-2", "#cancelled-", "ключ#"} {
		got, ok := task.ParseTombstone(task.Tombstone(key, 17, at))
		require.True(t, ok)
		require.Equal(t, key, got)
	}
	for _, key := range []string{"", "5f0e", "a#cancelled-", "a#cancelled-x-1", "a#cancelled-1-", "a#cancelled-1"} {
		got, ok := task.ParseTombstone(key)
		require.False(t, ok, key)
		require.Equal(t, key, got)
	}
}

func FuzzTombstone(f *testing.F) {
	f.Add("5f0e#cancelled-1-2", int64(3))
	f.Fuzz(func(t *testing.T, key string, id int64) {
		if id < 0 {
			id = -(id + 1)
		}
		got, ok := task.ParseTombstone(task.Tombstone(key, id, time.Unix(1_780_000_000, 0)))
		require.True(t, ok)
		require.Equal(t, key, got)
	})
}
