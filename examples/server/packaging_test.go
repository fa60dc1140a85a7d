package main

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// yamlParts are the documents of a YAML file.
func yamlParts(t *testing.T, file string) (out []map[string]any) {
	t.Helper()
	body := contents(t, file)
	for d := yaml.NewDecoder(bytes.NewReader(body)); ; {
		var one map[string]any
		err := d.Decode(&one)
		if err == io.EOF { //nolint:errorlint // the decoder's own
			return out
		}
		require.NoError(t, err)
		out = append(out, one)
	}
}

// at returns the value at a path of keys and indices.
func at(t *testing.T, in any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, ok := in.(map[string]any)
			require.True(t, ok && m[key] != nil, "%v: there is no %v", path, key)
			in = m[key]
		case int:
			l, ok := in.([]any)
			require.True(t, ok && key < len(l), "%v: there is no %v", path, key)
			in = l[key]
		}
	}
	return in
}

// Every setting that a file of packaging or a guide names is one.
func TestPackagedSettings(t *testing.T) {
	list, known := app.List(nil), map[string]bool{}
	for _, s := range list {
		known[s.Name] = true
		known[s.Name+"_FILE"] = s.Secret
	}
	name := regexp.MustCompile(`\bORCH_[A-Z0-9_]*[A-Z0-9]`)
	var files []string
	for _, pattern := range []string{"packaging/*", "../../docs/*.md", "../../*.md"} {
		found := matches(t, pattern)
		files = append(files, found...)
	}
	seen := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil { // a directory
			continue
		}
		if filepath.Base(file) == "CHANGELOG.md" { // of names that were
			continue
		}
		for _, one := range name.FindAllString(string(body), -1) {
			seen++
			family := slices.ContainsFunc(list, func(s app.Setting) bool { return strings.HasPrefix(s.Name, one+"_") }) // ORCH_GITHUB_…
			require.True(t, known[one] || family, "%s names %s", file, one)
		}
	}
	require.Greater(t, seen, 100)
}

// The settings and the registry within the manifests are good ones.
func TestPackagedRegistry(t *testing.T) {
	all := yamlParts(t, "packaging/kubernetes.yaml")
	kinds := map[string]map[string]any{}
	for _, d := range all {
		kinds[d["kind"].(string)] = d
		require.Equal(t, "signalbox", at(t, d, "metadata", "name"))
	}
	data := at(t, kinds["ConfigMap"], "data").(map[string]any)
	dir := t.TempDir()
	for _, name := range []string{"signalbox.yaml", "projects.yaml"} {
		put(t, data[name].(string), dir, name)
	}
	container := at(t, kinds["StatefulSet"], "spec", "template", "spec", "containers", 0).(map[string]any)
	keys := at(t, kinds["Secret"], "stringData").(map[string]any)
	environ := []string{"ORCH_DATA_DIR=" + dir, "ORCH_PROJECTS=" + filepath.Join(dir, "projects.yaml")}
	for _, one := range container["env"].([]any) {
		name, value := at(t, one, "name").(string), at(t, one, "value").(string)
		if secret, is := strings.CutPrefix(value, "/run/secrets/signalbox/"); is {
			require.Contains(t, keys, secret)
			value = filepath.Join(dir, secret)
			require.NoError(t, os.WriteFile(value, []byte("c0ffee00c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77"), 0o600))
		}
		environ = append(environ, name+"="+strings.Replace(value, "/etc/signalbox", dir, 1))
	}
	s, err := app.Load(environ)
	require.NoError(t, err)
	_, _, err = s.ReadRegistry()
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:8080", s.Listen)

	mounted := []string{}
	for _, m := range container["volumeMounts"].([]any) {
		mounted = append(mounted, at(t, m, "name").(string))
	}
	defined := []string{at(t, kinds["StatefulSet"], "spec", "volumeClaimTemplates", 0, "metadata", "name").(string)}
	for _, v := range at(t, kinds["StatefulSet"], "spec", "template", "spec", "volumes").([]any) {
		defined = append(defined, at(t, v, "name").(string))
	}
	require.ElementsMatch(t, defined, mounted)
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		require.Contains(t, []any{"/healthz", "/readyz"}, at(t, container, probe, "httpGet", "path"))
	}
}

// What compose.yaml refers to is defined in it or in the repository.
func TestCompose(t *testing.T) {
	c := yamlParts(t, "packaging/compose.yaml")[0]
	services := at(t, c, "services").(map[string]any)
	for name, one := range services {
		service := one.(map[string]any)
		require.NotEmpty(t, service["image"], name)
		secrets, _ := service["secrets"].([]any)
		for _, s := range secrets {
			at(t, c, "secrets", s, "file")
		}
		for _, v := range service["volumes"].([]any) {
			if from, _, _ := strings.Cut(v.(string), ":"); !strings.HasPrefix(from, ".") {
				require.Contains(t, at(t, c, "volumes"), from)
			}
		}
		environment, _ := service["environment"].(map[string]any)
		for _, value := range environment {
			if secret, is := strings.CutPrefix(value.(string), "/run/secrets/"); is {
				require.Contains(t, secrets, secret, "%s reads a secret that it is not given", name)
			}
		}
		needed, _ := service["depends_on"].(map[string]any)
		for other := range needed {
			at(t, services, other, "healthcheck", "test")
		}
	}
	build := filepath.Join("packaging", at(t, services, "signalbox", "build", "context").(string))
	require.FileExists(t, filepath.Join(build, "go.mod"))
	require.FileExists(t, filepath.Join(build, at(t, services, "signalbox", "build", "dockerfile").(string)))
}

// systemd reads the unit as it was meant, and finds it well closed.
func TestUnit(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	body := contents(t, "packaging/signalbox.service")
	require.Contains(t, string(body), "LoadCredential=orch:/etc/signalbox/credentials", "admin_token is orch_admin_token, which is ORCH_ADMIN_TOKEN")
	unit := filepath.Join(t.TempDir(), "signalbox.service")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(unit, bytes.ReplaceAll(body, []byte("/usr/bin/signalbox"), []byte(self)), 0o600))
	out, err := exec.CommandContext(t.Context(), tool, "security", "--offline=true", "--threshold=40", "--no-pager", unit).CombinedOutput()
	require.NoError(t, err, string(out))
	out, _ = exec.CommandContext(t.Context(), tool, "verify", "--man=no", unit).CombinedOutput() // where systemd does not run it complains of other units
	require.NotContains(t, string(out), "signalbox.service:", "a line is ignored")
}

// What the demo has compiled the build takes from the cache: flags that change each package are the same.
func TestDemoAndBuildShareTheCache(t *testing.T) {
	body := contents(t, "../../Makefile")
	for _, command := range []string{"run -trimpath ./examples/demo", "build -trimpath -o bin/ ."} {
		require.Contains(t, string(body), "$(GO) "+command)
	}
}

// What builds and runs a release is named by its digest, which nobody can move. What is not is listed: the list only
// gets shorter.
func TestPinned(t *testing.T) {
	names := []string{"packaging/Dockerfile", "packaging/compose.yaml", "packaging/kubernetes.yaml"}
	workflows := matches(t, "../../.github/workflows/*.yml")
	require.NotEmpty(t, workflows)
	named := regexp.MustCompile(`(?m)^\s*(?:- )?(?:uses:|image:|FROM) ([^\s#]+)`)
	pinned := regexp.MustCompile(`@(?:[0-9a-f]{40}|sha256:[0-9a-f]{64})$`)
	loose := map[string]bool{}
	for _, name := range append(names, workflows...) {
		body := contents(t, name)
		for _, m := range named.FindAllStringSubmatch(string(body), -1) {
			if !pinned.MatchString(m[1]) && m[1] != "scratch" {
				loose[m[1]] = true
			}
		}
	}
	release := contents(t, "../../.github/workflows/release.yml")
	pin, build := bytes.Index(release, []byte("sh examples/server/packaging/pin.sh examples/server/packaging/Dockerfile\n")), bytes.Index(release, []byte("build-push-action"))
	require.True(t, 0 < pin && pin < build, "images are pinned before they are built with")
	require.Equal(t, []string{
		"${SIGNALBOX_IMAGE:-signalbox}", // one's own
		"debian:trixie-slim", "gitea/gitea:1.24-rootless", "golang:1.26-trixie", "postgres:17",
		"signalbox:latest", // one's own
	}, slices.Sorted(maps.Keys(loose)))
}

// Each module here gets its updates.
func TestUpdated(t *testing.T) {
	var modules []string
	require.NoError(t, filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && (d.Name() == "node_modules" || name != "../.." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Name() == "go.mod":
			modules = append(modules, "/"+strings.Trim(strings.TrimPrefix(filepath.Dir(name), "../.."), "/"))
		}
		return err
	}))
	require.ElementsMatch(t, modules, at(t, at(t, yamlParts(t, "../../.github/dependabot.yml")[0], "updates", 0), "directories"))
}

// A release is built of images by their digests, and of none that has no digest. The registry is a command here.
func TestPin(t *testing.T) {
	recipe := contents(t, "packaging/Dockerfile")
	digest := "sha256:" + strings.Repeat("0f", 32)
	for resolve, want := range map[string]string{
		"echo " + digest + " #": "", "echo sha256:0f #": "has no digest", "echo #": "has no digest", "false #": "cannot be read",
		`test "$image" = debian:trixie-slim && echo ` + digest + " #": "golang:1.26-trixie cannot be read",
	} {
		file := filepath.Join(t.TempDir(), "Dockerfile")
		require.NoError(t, os.WriteFile(file, recipe, 0o600))
		for range 2 { // what is pinned stays
			cmd := exec.Command("sh", "packaging/pin.sh", file)
			cmd.Env = append(os.Environ(), "RESOLVE="+resolve)
			out, err := cmd.CombinedOutput()
			now, errRead := os.ReadFile(file)
			require.NoError(t, errRead)
			if want != "" {
				require.Error(t, err, resolve)
				require.Contains(t, string(out), want)
				require.Equal(t, string(recipe), string(now), "nothing is built of half of it")
				continue
			}
			require.NoError(t, err, string(out))
			pinned := strings.NewReplacer("golang:1.26-trixie", "golang:1.26-trixie@"+digest, "debian:trixie-slim", "debian:trixie-slim@"+digest)
			require.Equal(t, pinned.Replace(string(recipe)), string(now))
		}
	}
}

// matches are the files of a pattern.
func matches(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return files
}
