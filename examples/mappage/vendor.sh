#!/bin/sh
# Takes MapLibre GL JS from the packages of the browser tests into maplibre/, compressed, with
# its licence: so the page needs no npm. Run it after a change of the version in
# examples/browsertest/package.json; TestMapLibreIsThatOfTheTests compares them.
set -eu
cd "$(dirname "$0")"
from=../browsertest/node_modules/maplibre-gl
mkdir -p maplibre
cp "$from/LICENSE.txt" maplibre/LICENSE.txt
for name in maplibre-gl.mjs maplibre-gl-worker.mjs maplibre-gl.css; do
	gzip -9 -n -c "$from/dist/$name" >"maplibre/$name.gz"
done
