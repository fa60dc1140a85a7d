package checks

import (
	"path"
	"slices"
	"strings"
)

// readBy are the files that a program reads by itself, by its name: what a check runs is decided there.
var readBy = func() map[string][]string {
	javaScript := []string{
		"**/package.json", "**/.npmrc", "**/jest.config.*", "**/vitest.config.*", "**/vitest.workspace.*", "**/vite.config.*", "**/.mocharc.*",
		"**/playwright.config.*", "**/karma.conf.*", "**/cypress.config.*", "**/ava.config.*", "**/turbo.json", "**/nx.json",
	}
	python := []string{
		"**/pyproject.toml", "**/tox.ini", "**/setup.cfg", "**/setup.py", "**/pytest.ini", "**/.pytest.ini", "**/.coveragerc", "**/noxfile.py", "**/conftest.py",
		"**/sitecustomize.py", "**/usercustomize.py",
	}
	ruby := []string{"**/Rakefile", "**/Gemfile", "**/.rspec", "**/spec_helper.rb", "**/rails_helper.rb"}
	gradle := []string{"**/build.gradle*", "**/settings.gradle*", "**/gradle.properties", "gradle", "gradlew", "buildSrc"}
	compose := []string{"**/Dockerfile*", "**/compose*.y*ml", "**/docker-compose*.y*ml"}
	out := map[string][]string{
		"make": {"**/Makefile", "**/GNUmakefile", "**/makefile", "**/*.mk"}, "just": {"**/justfile", "**/.justfile", "**/Justfile"},
		"task": {"**/Taskfile.y*ml", "**/Taskfile.dist.y*ml"}, "cargo": {"**/Cargo.toml", "**/build.rs", "**/.cargo", "**/rust-toolchain*"},
		"go": {"**/go.work", "**/.golangci.*"}, "mvn": {"**/pom.xml", "**/.mvn", "mvnw"}, "dotnet": {"**/*.csproj", "**/*.sln", "**/Directory.*", "**/*.runsettings"},
		"bazel": {"**/BUILD", "**/BUILD.bazel", "**/.bazelrc", "**/*.bzl", "WORKSPACE*", "MODULE.bazel"}, "cmake": {"**/CMakeLists.txt", "**/*.cmake", "CMakePresets.json"},
		"composer": {"composer.json", "**/phpunit.xml*"}, "mix": {"**/mix.exs", "**/.formatter.exs"}, "pre-commit": {"**/.pre-commit-config.yaml"},
	}
	for of, names := range map[string]string{
		"make": "gmake", "mvn": "mvnw", "bazel": "bazelisk", "cmake": "ctest", "composer": "phpunit", "go": "gotestsum golangci-lint",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = out[of]
		}
	}
	for names, files := range map[string][]string{
		"npm npx pnpm pnpx yarn bun bunx node deno jest vitest mocha playwright cypress turbo nx": javaScript,
		"python python3 pytest py.test tox nox uv uvx poetry hatch pdm pipenv coverage":           python,
		"ruby rake bundle rspec rails": ruby, "gradle gradlew": gradle, "docker docker-compose podman podman-compose": compose,
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = files
		}
	}
	return out
}()

// ReadBy returns patterns of the files that a command's programs read by themselves, those of a shell's line too.
// What nothing is known of reads none.
func ReadBy(argv []string) (patterns []string) {
	for _, word := range argv {
		for _, one := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`'\"", r) }) {
			patterns = append(patterns, readBy[path.Base(one)]...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}
