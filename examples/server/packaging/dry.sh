#!/bin/sh
# Makes what a release of HEAD has into the new directory $1, publishes nothing, and makes it again at another
# place with an empty cache of compiled packages: programs, archives and packages have the same bytes.
# An SBOM has its time and a random name in it, so its hash says nothing.
set -eu
first="$1/src"
second="$(mktemp -d)"
trap 'rm -rf "$second"' EXIT
skip=publish
command -v syft >/dev/null || { echo "!! syft is missing: no SBOM is made" >&2; skip=publish,sbom; }
make_at() {
	git clone --quiet "$3" "$1"
	(cd "$1" && git remote set-url origin https://github.com/signalbox-dev/signalbox.git &&
		goreleaser release --snapshot --clean --skip="$2" && cd dist && sha256sum signalbox_linux_*/signalbox ./*.tar.gz ./*.deb ./*.rpm >hashes)
}
make_at "$first" "$skip" .
GOCACHE="$second/cache" make_at "$second/in/a/longer/path" publish,sbom "$first" # of the same commit, whoever commits meanwhile
diff "$first/dist/hashes" "$second/in/a/longer/path/dist/hashes" || { echo "!! two builds of one commit differ" >&2; exit 1; }
mv "$first/dist"/* "$1/" && rm -rf "$first"
cat "$1/hashes"
echo "two builds, one hash; what a release has: $1"
