#!/bin/sh
# Makes ready what the browser tests need: Node.js, Chromium, and the packages of
# the lock file. What is missing is installed where this user may; otherwise one
# line says what to install.
set -eu
cd "$(dirname "$0")"

# need PACKAGES WORDS installs packages of the system, or says what is missing.
need() {
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		echo "installing $1"
		if { apt-get update && apt-get install -y --no-install-recommends $1; } >prepare.out 2>&1; then
			rm -f prepare.out
			return
		fi
		tail -n 5 prepare.out >&2
	fi
	echo "$2" >&2
	exit 1
}

major() { node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

nodeless="the browser tests need Node.js 20 or newer with npm: apt-get install nodejs npm, or see nodejs.org"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	need "nodejs npm" "$nodeless"
fi
if [ "$(major)" -lt 20 ]; then
	echo "$nodeless" >&2
	exit 1
fi
if ! node chromium.mjs; then
	need chromium "the browser tests need Chromium: apt-get install chromium, or set CHROMIUM to the path of one"
fi
if ! cmp -s package-lock.json node_modules/.installed; then
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci
	cp package-lock.json node_modules/.installed
fi
