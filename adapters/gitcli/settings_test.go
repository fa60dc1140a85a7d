//go:build linux

package gitcli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// setting is one that makes git run a program, and a plain git call that runs it.
type setting struct {
	name, value string // CANARY is the program
	proof       []string
}

// executables are the settings that make git run a program. Those without a proof need
// a terminal, a server or a configuration that no repository has.
func executables() []setting {
	return []setting{
		{"core.fsmonitor", "CANARY", []string{"status"}},
		{"core.hooksPath", "HOOKS", []string{"commit", "--allow-empty", "-m", "x"}},
		{"core.sshCommand", "CANARY", []string{"ls-remote", "ssh://127.0.0.1/x"}},
		{"core.gitProxy", "CANARY", []string{"ls-remote", "git://127.0.0.1/x"}},
		{"core.editor", "CANARY", []string{"commit", "--allow-empty"}},
		{"core.askPass", "CANARY", []string{"credential", "fill"}},
		{"core.alternateRefsCommand", "CANARY", []string{"fetch", "REMOTE", "main"}},
		{"core.pager", "CANARY", nil},
		{"credential.helper", "!CANARY", []string{"credential", "fill"}},
		{"credential.https://127.0.0.1.helper", "!CANARY", []string{"credential", "fill"}},
		{"diff.external", "CANARY", []string{"diff", "HEAD~1"}},
		{"diff.evil.command", "CANARY", []string{"diff", "HEAD~1"}},
		{"diff.evil.textconv", "CANARY", []string{"diff", "HEAD~1"}},
		{"filter.evil.clean", "CANARY", []string{"add", "draft.txt"}},
		{"filter.evil.smudge", "CANARY", []string{"checkout", "--force", "HEAD~1"}},
		{"filter.evil.process", "CANARY", []string{"checkout", "--force", "HEAD~1"}},
		{"merge.evil.driver", "CANARY", []string{"merge", "side"}},
		{"gpg.program", "CANARY", []string{"commit", "--gpg-sign", "--allow-empty", "-m", "x"}},
		{"gpg.openpgp.program", "CANARY", []string{"commit", "--gpg-sign", "--allow-empty", "-m", "x"}},
		{"gpg.x509.program", "CANARY", []string{"-c", "gpg.format=x509", "commit", "--gpg-sign", "--allow-empty", "-m", "x"}},
		{"gpg.ssh.program", "CANARY", []string{"-c", "gpg.format=ssh", "-c", "user.signingKey=key::x", "commit", "--gpg-sign", "--allow-empty", "-m", "x"}},
		{"gpg.ssh.defaultKeyCommand", "CANARY", []string{"-c", "gpg.format=ssh", "commit", "--gpg-sign", "--allow-empty", "-m", "x"}},
		{"sequence.editor", "CANARY", []string{"rebase", "--interactive", "HEAD~1"}},
		{"alias.evil", "!CANARY", []string{"evil"}},
		{"alias.rev-list", "!CANARY", nil}, // git's own commands count first
		{"trailer.evil.command", "CANARY", []string{"interpret-trailers", "--trailer", "evil=x"}},
		{"trailer.evil.cmd", "CANARY", []string{"interpret-trailers", "--trailer", "evil=x"}},
		{"difftool.evil.cmd", "CANARY", []string{"difftool", "--no-prompt", "--tool=evil", "HEAD~1"}},
		{"mergetool.evil.cmd", "CANARY", nil},
		{"interactive.diffFilter", "CANARY", nil},
		{"tar.evil.command", "CANARY", []string{"archive", "--format=evil", "HEAD"}},
		{"remote.evil.uploadpack", "CANARY", []string{"-c", "remote.evil.url=REMOTE", "fetch", "evil"}},
		{"remote.REMOTE.vcs", "evil", nil},
		{"uploadpack.packObjectsHook", "CANARY", nil},
		{"url.ext::CANARY .insteadOf", "/", []string{"-c", "protocol.ext.allow=always", "ls-remote", "/nowhere"}},
		{"protocol.ext.allow", "always", nil},
		{"submodule.evil.update", "!CANARY", nil},
		{"include.path", "INCLUDED", []string{"status"}},
		{"includeIf.gitdir:**.path", "INCLUDED", []string{"status"}},
		{"sendemail.sendmailCmd", "CANARY", nil}, {"imap.tunnel", "CANARY", nil}, {"web.browser", "evil", nil}, {"browser.evil.cmd", "CANARY", nil},
		{"man.evil.cmd", "CANARY", nil}, {"guitool.evil.cmd", "CANARY", nil}, {"hook.evil.command", "CANARY", nil}, {"hook.evil.event", "post-checkout", nil},
		{"core.worktree", "/", nil}, {"core.attributesFile", "ATTRIBUTES", nil}, {"init.templateDir", "/nowhere", nil}, {"extensions.worktreeConfig", "true", nil},
	}
}

// everySetting are all settings that the installed git lists, and what they might run.
func everySetting(t *testing.T) (all []setting) {
	t.Helper()
	for _, name := range strings.Fields(run(t, t.TempDir(), "help", "--config")) {
		if !strings.HasSuffix(name, ".") && strings.Contains(name, ".") {
			all = append(all, setting{name: strings.NewReplacer("<", "", ">", "", "*", "evil").Replace(name), value: "CANARY"})
		}
	}
	require.Greater(t, len(all), 300)
	return append(all, executables()...)
}

// trap is a directory of what an agent writes into its repository, and the canary that
// says whether any of it was run.
type trap struct{ dir, canary, proof, remote string }

func newTrap(t *testing.T, remote string) trap {
	t.Helper()
	dir := t.TempDir()
	x := trap{dir: filepath.Join(dir, "plant"), canary: filepath.Join(dir, "canary"), proof: filepath.Join(dir, "proof"), remote: remote}
	write(t, dir, "canary", "#!/bin/sh\necho \"$*\" >>"+x.proof+"\n")
	write(t, dir, "included", "[core]\n\tfsmonitor = "+x.canary+"\n[filter \"evil\"]\n\tsmudge = "+x.canary+"\n\tclean = "+x.canary+"\n")
	for _, hook := range hooks() {
		write(t, dir, "hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+x.proof+"\n")
	}
	write(t, x.dir, "info/attributes", "* filter=evil diff=evil merge=evil\n")
	return x
}

func hooks() []string {
	return strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase
		post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc
		post-rewrite sendemail-validate fsmonitor-watchman post-index-change`)
}

// text writes settings as a file of them.
func (x trap) text(settings ...setting) string {
	fill := strings.NewReplacer("CANARY", x.canary, "HOOKS", filepath.Join(filepath.Dir(x.dir), "hooks"), "INCLUDED", filepath.Join(filepath.Dir(x.dir), "included"),
		"ATTRIBUTES", filepath.Join(x.dir, "info/attributes"), "REMOTE", x.remote)
	var b strings.Builder
	for _, s := range settings {
		section, rest, _ := strings.Cut(fill.Replace(s.name), ".")
		under, key := "", rest
		if last := strings.LastIndexByte(rest, '.'); last >= 0 {
			under, key = fmt.Sprintf(" %q", rest[:last]), rest[last+1:]
		}
		fmt.Fprintf(&b, "[%s%s]\n\t%s = %q\n", section, under, key, fill.Replace(s.value))
	}
	return b.String()
}

const plain = "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n"

// A plain git runs what is planted: else the test below would prove nothing.
func TestPlantedSettingsAreRunByAPlainGit(t *testing.T) {
	t.Parallel()
	bare := remote(t)
	for _, s := range executables() {
		if s.proof == nil {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			x := newTrap(t, bare)
			dir := filepath.Join(t.TempDir(), "repo")
			run(t, t.TempDir(), "clone", "--quiet", "--shared", bare, dir)
			commit(t, dir, "a.txt", "one\n")
			run(t, dir, "branch", "side")
			commit(t, dir, "a.txt", "two\n")
			run(t, dir, "checkout", "--quiet", "side")
			commit(t, dir, "a.txt", "three\n")
			run(t, dir, "checkout", "--quiet", "-")
			write(t, dir, "draft.txt", "x")
			write(t, dir, ".git/info/attributes", "* filter=evil diff=evil merge=evil\n")
			write(t, dir, ".git/config", plain+x.text(s))
			var args []string
			for _, arg := range s.proof {
				args = append(args, strings.ReplaceAll(arg, "REMOTE", bare))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "git", args...)
			cmd.WaitDelay = time.Second
			cmd.Dir, cmd.Stdin = dir, strings.NewReader("protocol=https\nhost=127.0.0.1\n\n")
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "TERM=dumb", "GIT_AUTHOR_NAME=k", "GIT_AUTHOR_EMAIL=k",
				"GIT_COMMITTER_NAME=k", "GIT_COMMITTER_EMAIL=k",
			}
			out, _ := cmd.CombinedOutput() // the canary is no good filter, editor or signer
			require.FileExists(t, x.proof, "%s", out)
		})
	}
}

// Nothing that an agent writes into its repository is run by the service, even if it is
// written anew before each call of git.
func TestAgentsSettingsAreNotRun(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(x trap){
		"settings":      func(x trap) { write(t, x.dir, "config", plain+x.text(executables()...)) },
		"every setting": func(x trap) { write(t, x.dir, "config", plain+x.text(everySetting(t)...)) },
		"of the worktree": func(x trap) {
			write(t, x.dir, "config", plain+"[extensions]\n\tworktreeConfig = true\n")
			write(t, x.dir, "config.worktree", x.text(executables()...))
		},
		"included": func(x trap) {
			write(t, x.dir, "config", plain+"[include]\n\tpath = others\n[includeIf \"gitdir:**\"]\n\tpath = others\n")
			write(t, x.dir, "others", x.text(executables()...))
		},
		"hooks": func(x trap) {
			for _, hook := range hooks() {
				write(t, x.dir, "hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+x.proof+"\n")
			}
		},
		"of another repository": func(x trap) {
			write(t, x.dir, "config", plain+x.text(executables()...))
			write(t, x.dir, "commondir", x.dir+"\n")
			write(t, x.dir, "objects/info/alternates", x.dir+"/objects\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			x := newTrap(t, k.bare)
			plant(x)
			log := filepath.Join(t.TempDir(), "calls")
			k.g = k.planting(x, log)
			k.space.Keep = []string{"cache"}
			dir := k.open()
			k.agentCommits(dir, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
			write(t, dir, ".gitignore", "cache\n")
			write(t, dir, "cache/x", "x")
			k.agentCommits(dir, "a.txt", "one\n")
			require.True(t, k.take().Changed)
			head := k.agentCommits(dir, "a.txt", "two\n") // not taken: the next attempt finds it
			write(t, dir, "draft.txt", "x")
			require.NotEmpty(t, k.reopen().Left.Ref)
			require.Equal(t, head, k.take().SHA)
			k.pushMain("other.txt", "main\n")
			require.NotEqual(t, head, k.catchUp().SHA)
			k.open()
			k.agentCommits(dir, "b.txt", "b\n")
			last := k.take()
			require.True(t, last.Changed)
			k.push(last.SHA, "")
			require.NoError(t, k.g.Maintain(t.Context(), k.space, work.Maintenance{Idle: true}))
			k.close()
			require.NoFileExists(t, x.proof)

			calls, err := os.ReadFile(log)
			require.NoError(t, err)
			for call := range strings.Lines(string(calls)) {
				repo, _, _ := strings.Cut(strings.TrimPrefix(call, "--git-dir="), " ")
				rel, err := filepath.Rel(k.root, repo)
				require.NoError(t, err)
				require.Regexp(t, "^(mirrors|take-)", rel, "a git of ours is run where agents write: %s", call) // a rebase has its own
			}
		})
	}
}

// planting is a service whose every call of git comes behind an agent that plants.
func (k *kit) planting(x trap, log string) *gitcli.Git {
	k.Helper()
	name := filepath.Join(k.TempDir(), "git")
	write(k, filepath.Dir(name), "git", "#!/bin/sh\necho \"$*\" >>"+log+"\nfor repo in "+k.root+"/repos/*/*.git; do\n"+
		"	[ -d \"$repo\" ] && cp -R "+x.dir+"/. \"$repo\"\ndone\nexec git \"$@\"\n")
	return openGit(k, gitcli.Options{Root: k.root, Git: name})
}

// agentCommits commits without running into what was planted.
func (k *kit) agentCommits(dir, name, body string) string {
	k.Helper()
	for _, planted := range []string{"config.worktree", "others", "hooks", "commondir", "info"} {
		require.NoError(k, os.RemoveAll(filepath.Join(k.repo(), planted)))
	}
	write(k, k.repo(), "config", plain)
	write(k, k.repo(), "objects/info/alternates", filepath.Join(k.mirror(), "objects")+"\n")
	return commit(k, dir, name, body)
}
