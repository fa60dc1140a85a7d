package checks

import (
	"path"
	"slices"
	"strings"
)

// runners are programs, and behind a colon patterns of the files that they read by themselves, anywhere in a repository.
const runners = `
make gmake: Makefile GNUmakefile makefile *.mk
just: justfile .justfile Justfile
task: Taskfile.y*ml Taskfile.dist.y*ml
npm npx pnpm pnpx yarn bun bunx node deno jest vitest mocha playwright cypress turbo nx: package.json .npmrc jest.config.* vitest.config.*
	vitest.workspace.* vite.config.* .mocharc.* playwright.config.* karma.conf.* cypress.config.* ava.config.* turbo.json nx.json
	project.json deno.json* .yarnrc* bunfig.toml .pnpmfile.* pnpm-workspace.yaml
python python3 pytest py.test tox nox uv uvx poetry hatch pdm pipenv coverage: pyproject.toml tox.ini setup.cfg setup.py pytest.ini
	.pytest.ini .coveragerc noxfile.py conftest.py sitecustomize.py usercustomize.py
cargo: Cargo.toml build.rs .cargo rust-toolchain*
go gotestsum golangci-lint: go.work .golangci.*
gradle gradlew: build.gradle* settings.gradle* gradle.properties gradle gradlew buildSrc
mvn mvnw: pom.xml .mvn mvnw
ruby rake bundle rspec rails: Rakefile Gemfile .rspec spec_helper.rb rails_helper.rb
dotnet: *.csproj *.sln Directory.* *.runsettings
bazel bazelisk: BUILD BUILD.bazel .bazelrc *.bzl WORKSPACE* MODULE.bazel
cmake ctest: CMakeLists.txt *.cmake CMakePresets.json
composer phpunit: composer.json phpunit.xml*
mix: mix.exs .formatter.exs
pre-commit: .pre-commit-config.yaml
docker docker-compose podman podman-compose: Dockerfile* compose*.y*ml docker-compose*.y*ml
`

// ReadBy returns patterns of the files that a command's programs read by themselves, those of a shell's line too: what
// they run is decided there. What nothing is known of reads none.
func ReadBy(argv []string) (patterns []string) {
	between := func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`'\"", r) }
	var words []string
	for _, word := range argv {
		for one := range strings.FieldsFuncSeq(word, between) {
			words = append(words, path.Base(one))
		}
	}
	for line := range strings.Lines(strings.ReplaceAll(runners, "\n\t", " ")) {
		names, files, _ := strings.Cut(line, ":")
		if !slices.ContainsFunc(strings.Fields(names), func(name string) bool { return slices.Contains(words, name) }) {
			continue
		}
		for file := range strings.FieldsSeq(files) {
			patterns = append(patterns, "**/"+file)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}
