package checks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What a runner reads by itself is known by its name, in a shell's line and behind other programs as well.
func TestReadBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv  []string
		reads []string
		not   string
	}{
		{[]string{"make", "test"}, []string{"Makefile", "GNUmakefile", "build/rules.mk", "sub/Makefile"}, "package.json"},
		{[]string{"npm", "test"}, []string{"package.json", "web/vitest.config.ts", ".npmrc"}, "Makefile"},
		{[]string{"nx", "test"}, []string{"web/project.json", "deno.jsonc", ".yarnrc.yml", "bunfig.toml", ".pnpmfile.cjs"}, "a.json"},
		{[]string{"sh", "-c", "cd web && npm ci; make -j2 check"}, []string{"package.json", "Makefile"}, "Cargo.toml"},
		{[]string{"env", "CI=1", "pytest", "-q"}, []string{"pyproject.toml", "tox.ini", "setup.cfg", "tests/conftest.py"}, "a.py"},
		{[]string{"/usr/bin/cargo", "test"}, []string{"Cargo.toml", ".cargo/config.toml", "crates/a/build.rs"}, "src/lib.rs"},
		{[]string{"./gradlew", "check"}, []string{"build.gradle.kts", "app/build.gradle", "gradle/wrapper/gradle-wrapper.properties", "gradlew"}, "pom.xml"},
		{[]string{"go", "test", "./..."}, []string{"go.work"}, "make.go"},
	} {
		patterns := checks.ReadBy(c.argv)
		require.NoError(t, stage.CheckPatterns(patterns))
		for _, name := range c.reads {
			require.True(t, stage.MatchPath(patterns, name), "%v: %s", c.argv, name)
		}
		require.False(t, stage.MatchPath(patterns, c.not), "%v: %s", c.argv, c.not)
	}
	for _, name := range strings.Fields("just task dotnet bazelisk ctest phpunit mix pre-commit bundle docker golangci-lint mvn uv") {
		require.NotEmpty(t, checks.ReadBy([]string{name}), name)
		require.NoError(t, stage.CheckPatterns(checks.ReadBy([]string{name})))
	}
	require.Empty(t, checks.ReadBy([]string{"./bin/check", "remake"}))
	require.Empty(t, checks.ReadBy(nil))
}
