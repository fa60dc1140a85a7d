package agentcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// DefaultEnv lists the names that agents see when Options.EnvAllow is nil, beside those of
// their preset. Addresses of proxies and package registries are not among them: they hold
// passwords. Nor is a pattern, here or in a preset: nobody has looked at what it lets by.
func DefaultEnv() []string {
	return []string{
		"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ",
		"TERM", "TMPDIR", "SHELL", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}
}

// mark is the variable that every process of a run inherits.
const mark = "SIGNALBOX_RUN_TOKEN"

// environment returns the variables of the agent: allow-listed names, the command's own,
// and the run's facts.
func (r *Runner) environment(e execution, token string) map[string]string {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if Allowed(slices.Concat(r.opt.EnvAllow, e.preset.Env, e.Agent.Env), name) {
			env[name] = value
		}
	}
	delete(env, "CLAUDECODE") // the mark of a nested session
	env["HOME"] = os.Getenv("HOME")
	if e.home != "" {
		env["HOME"], env["TMPDIR"] = filepath.Join(e.home, "home"), filepath.Join(e.home, "tmp")
	}
	for name, value := range e.Env {
		if strings.HasPrefix(name, "SIGNALBOX_") && !strings.ContainsAny(name, "=\x00") && !strings.ContainsRune(value, 0) {
			env[name] = value
		}
	}
	for name, value := range map[string]string{
		"TASK_ID": strconv.FormatInt(e.TaskID, 10), "WORK_ITEM": e.WorkItem, "REPO": e.Repo,
		"ROLE": string(e.Role), "STAGE": string(e.Stage),
		"RUN": strconv.FormatInt(e.Run, 10), "ATTEMPT": strconv.Itoa(e.Attempt), "PROMPT_FILE": e.prompt,
	} {
		env["SIGNALBOX_"+name] = value
	}
	if e.Agent.Model != "" && !strings.ContainsRune(e.Agent.Model, 0) {
		env["SIGNALBOX_MODEL"] = e.Agent.Model
	}
	if e.Report != "" {
		env["SIGNALBOX_REPORT"] = e.reportPath()
	}
	if e.jailed {
		maps.Copy(env, e.preset.JailEnv)
	}
	maps.Copy(env, e.preset.SetEnv)
	env[mark] = token
	env["GIT_TERMINAL_PROMPT"] = "0"
	return env
}

// pairs is an environment in the kernel's form, sorted.
func pairs(env map[string]string) []string {
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// Allowed reports whether a name is on a list such as Options.EnvAllow. Names of the
// service's own settings never are.
func Allowed(list []string, name string) bool {
	if strings.HasPrefix(name, "ORCH_") {
		return false
	}
	return slices.ContainsFunc(list, func(a string) bool {
		prefix, isPrefix := strings.CutSuffix(a, "*")
		return isPrefix && strings.HasPrefix(name, prefix) || a == name
	})
}
