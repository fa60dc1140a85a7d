package gitcli

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What git 2.39 and services have said, and whether the same call would be refused
// again. Calls that can be made to fail so here are made in remote_test.go.
func TestFinal(t *testing.T) {
	t.Parallel()
	const lost = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n"
	const failed = "error: failed to push some refs to 'https://git.example.org/a/b.git'\n"
	rejects := func(reason string) string {
		return "To https://git.example.org/a/b.git\n ! [remote rejected] 0badc0ffee -> feature/a (" + reason + ")\n" + failed
	}
	for text, want := range map[string]bool{
		"": false,
		"error: unable to read askpass response from '/bin/false'\nfatal: could not read Username for 'http://127.0.0.1:39249': terminal prompts disabled\n": true,
		"remote: Invalid username or password.\nfatal: Authentication failed for 'https://git.example.org/a/b.git/'\n":                                       true,
		"git@github.com: Permission denied (publickey).\n" + lost:                                                                                            true,
		"ERROR: Repository not found.\n" + lost:                true,
		"ERROR: Permission to a/b.git denied to kim.\n" + lost: true,
		"remote: \nremote: ERROR: The project you were looking for could not be found or you don't have permission to view it.\n" + lost: true,
		"remote: Repository not found.\nfatal: repository 'https://git.example.org/a/b.git/' not found\n":                                true,
		"fatal: '/srv/none.git' does not appear to be a git repository\n" + lost:                                                         true,
		"fatal: couldn't find remote ref refs/heads/none\n":                                                                              true,
		"fatal: invalid refspec 'HEAD:refs/heads/a..b'\n":                                                                                true,
		"fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111\n":                                       true,
		"fatal: remote error: access denied or repository not exported: /a/b.git\n":                                                      true,
		"fatal: remote error: \n  The service is temporarily unavailable.\n":                                                             false,
		rejects("pre-receive hook declined"):                                                                                             true,
		rejects("protected branch hook declined"):                                                                                        true,
		rejects("hook declined"):              true,
		rejects("deletion prohibited"):        true,
		rejects("non-fast-forward"):           true,
		rejects("shallow update not allowed"): true,
		"remote: fatal: pack exceeds maximum allowed size        \nerror: remote unpack failed: unpack-objects abnormal exit\n" + rejects("unpacker error"):        true,
		"remote: fatal: write error: Disk quota exceeded        \nerror: remote unpack failed: index-pack abnormal exit\n" + rejects("unpacker error"):             true,
		"remote: error: cannot lock ref 'refs/heads/f/x': 'refs/heads/f' exists; cannot create 'refs/heads/f/x'        \n" + rejects("failed to update ref"):       true,
		"remote: error: cannot lock ref 'refs/heads/g': Unable to create '/srv/b.git/refs/heads/g.lock': File exists.        \n" + rejects("failed to update ref"): false,
		rejects("Internal Server Error"):                                                                     false,
		rejects("pre-receive hook timed out"):                                                                false,
		rejects("cannot lock ref 'refs/heads/a'"):                                                            false,
		rejects("incorrect old value provided"):                                                              false,
		"remote: GL-HOOK-ERR: blocked by policy        \n" + rejects("pre-receive hook declined"):            true,
		"To https://git.example.org/a/b.git\n ! [rejected]        HEAD~1 -> f (stale info)\n" + failed:       false,
		"To https://git.example.org/a/b.git\n ! [rejected]        HEAD~1 -> f (non-fast-forward)\n" + failed: true,
		"remote: The requested URL returned error: 403\nfatal: the remote end hung up unexpectedly\n":        false, // no word of git
		"remote: You have exceeded a secondary rate limit.\nfatal: unable to access 'https://git.example.org/a/b.git/': The requested URL returned error: 403\n":           false,
		"fatal: unable to access 'http://nothing.invalid/x.git/': Could not resolve host: nothing.invalid\n":                                                               false,
		"fatal: unable to access 'https://127.0.0.1:45633/x.git/': server certificate verification failed. CAfile: none CRLfile: none\n":                                   false,
		"fatal: unable to access 'http://127.0.0.1:1/x.git/': Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server\n":                              false,
		"ssh: connect to host 127.0.0.1 port 1: Connection refused\n" + lost:                                                                                               false,
		"ssh: Could not resolve hostname git.example.org: Name or service not known\n" + lost:                                                                              false,
		"kex_exchange_identification: Connection closed by remote host\n" + lost:                                                                                           false,
		"fatal: unable to connect to 127.0.0.1:\n127.0.0.1[0: 127.0.0.1]: errno=Connection refused\n":                                                                      false,
		"error: RPC failed; curl 52 Empty reply from server\nsend-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly\n": false,
		"error: no DAV locking support on http://127.0.0.1:39249/remote.git/\nfatal: git-http-push failed\n" + failed:                                                      false,
		"error: unable to write file: No space left on device\n":                                                                                                           false,
		"fatal: Unable to create '/srv/mirrors/a--b.git/packed-refs.lock': File exists.\n":                                                                                 false,
		"error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\nfatal: the remote end hung up unexpectedly\n":                                          true,
		"error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503\nfatal: expected flush after ref listing\n":                                             false,
	} {
		require.Equal(t, want, final(text), text)
	}
	require.True(t, final(rejects("pre-receive hook declined")+strings.Repeat("hint: x\n", 1000)), "of more than an error quotes")
}

// Git's own words for a disk without room are a shortage of the machine; those of a remote are not.
func TestShortage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"error: unable to write file: No space left on device\n":                                                                                            true,
		"fatal: sha1 file '/srv/index.lock' write error. Out of diskspace\n":                                                                                true,
		"fatal: Unable to create '/srv/shallow.lock': Read-only file system\n":                                                                              true,
		"remote: fatal: write error: Disk quota exceeded\n" + "To https://git.example.org/a/b.git\n ! [remote rejected] 0badc0ffee -> f (unpacker error)\n": false,
		"fatal: ambiguous argument No space left on device\nfatal: bad object x Out of diskspace":                                                           false,
	} {
		require.Equal(t, want, fault.IsShortage(failed(t.Context(), "fetch", text, errors.New("exit status 128"))), text)
	}
}
