package dssekey_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/dssekey"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// lines are the envelopes of a receipt.
func lines(t *testing.T, bundle string) (out []map[string]any) {
	for line := range strings.Lines(bundle) {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}

func payload(t *testing.T, e map[string]any) []byte {
	raw, err := base64.StdEncoding.DecodeString(e["payload"].(string))
	require.NoError(t, err)
	return raw
}

// A card's whole life has one receipt, which OpenSSL verifies as well; whatever is touched in it is named.
func TestReceipt(t *testing.T) {
	var got receipt.Issued
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		key, err := dssekey.OpenKey(filepath.Join(t.TempDir(), "receipt.key"))
		require.NoError(r, err)
		issue := func(tk task.Task) (receipt.Issued, error) {
			return key.Issue(r.Context(), r.Store, tk, "https://box.example.org", "v0")
		}
		item := r.Card(orchestratortest.App, "Cache the tiles")
		r.ToDone(orchestratortest.App, item)
		tk := r.Task(item)
		got, err = issue(tk)
		require.NoError(r, err)
		require.Equal(r, []string{tk.State.MergeSHA}, got.Commits)
		again, err := issue(tk)
		require.NoError(r, err)
		require.Equal(r, got, again, "it is the same each time")

		s, err := dssekey.Verify(r.Context(), got.Public, []byte(got.Bundle))
		require.NoError(r, err)
		d := s.Predicate.Definition
		require.Equal(r, "Cache the tiles", d.External.Title)
		said := []string{}
		for _, w := range d.External.Words {
			said = append(said, w.Said)
		}
		require.Equal(r, []string{string(stage.StatusToAnalyse), string(stage.StatusApproved)}, said)
		checks := []string{}
		for _, g := range d.Internal.Gates {
			checks = append(checks, g.Verdict.Check)
		}
		require.Contains(r, checks, "all")
		require.Len(r, s.Predicate.Details.Runs, len(r.Roles()))

		live := r.Begin("not yet")
		r.Settle(time.Second)
		_, err = issue(r.Task(live))
		require.ErrorIs(r, err, receipt.ErrLive)
		ended := r.Task(live)
		ended.State.Stage = stage.Cancelled
		_, err = issue(ended)
		require.ErrorIs(r, err, receipt.ErrUnmerged)
	})
	e := lines(t, got.Bundle)
	openssl(t, got.Public, e[0])
	openssl(t, got.Public, e[1])
	touchEach(t, got)

	other, err := dssekey.OpenKey(filepath.Join(t.TempDir(), "other.key"))
	require.NoError(t, err)
	_, err = dssekey.Verify(t.Context(), other.PublicPEM(), []byte(got.Bundle))
	require.Equal(t, &dssekey.TouchedError{}, err)
}

// openssl has OpenSSL verify an envelope: DSSE signs "DSSEv1", and the type and the payload with their lengths.
func openssl(t *testing.T, public string, e map[string]any) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Log("openssl is missing: no other program verifies the receipt")
		return
	}
	dir, kind, body := t.TempDir(), e["payloadType"].(string), payload(t, e)
	sig, err := base64.StdEncoding.DecodeString(e["signatures"].([]any)[0].(map[string]any)["sig"].(string))
	require.NoError(t, err)
	for name, text := range map[string][]byte{
		"key": []byte(public), "sig": sig, "data": fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(body), body),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	args := strings.Fields("pkeyutl -verify -pubin -inkey key -rawin -in data -sigfile sig")
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// touchEach changes each value of the statement, one at a time.
func touchEach(t *testing.T, got receipt.Issued) {
	e := lines(t, got.Bundle)
	var v any
	require.NoError(t, json.Unmarshal(payload(t, e[0]), &v))
	rest, touched := strings.SplitAfter(got.Bundle, "\n")[1], 0
	check := func(at string) {
		body, err := json.Marshal(v)
		require.NoError(t, err)
		e[0]["payload"] = base64.StdEncoding.EncodeToString(body)
		line, err := json.Marshal(e[0])
		require.NoError(t, err)
		_, err = dssekey.Verify(t.Context(), got.Public, []byte(string(line)+"\n"+rest))
		require.Equal(t, &dssekey.TouchedError{Fields: []string{at}}, err)
		touched++
	}
	var walk func(at string, v any, set func(any))
	walk = func(at string, v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for name, one := range v {
				walk(at+"/"+name, one, func(to any) { v[name] = to })
			}
		case []any:
			for i, one := range v {
				walk(fmt.Sprintf("%s/%d", at, i), one, func(to any) { v[i] = to })
			}
		default:
			set("touched")
			check(at)
			set(v)
		}
	}
	walk("", v, nil)
	require.Greater(t, touched, 100)
}

// A key is made once, for its owner alone; what is none is named.
func TestOpenKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipt.key")
	one, err := dssekey.OpenKey(path)
	require.NoError(t, err)
	two, err := dssekey.OpenKey(path)
	require.NoError(t, err)
	require.Equal(t, one, two)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	_, err = dssekey.OpenKey(path)
	require.ErrorContains(t, err, path)
}
