#!/bin/sh
# Takes MapLibre GL JS and the reader of PMTiles from the packages of the browser tests into
# page/, compressed, with their licences: so the page needs no npm. Run it after a
# change of a version in examples/browsertest/package.json; TestMapLibreIsBuiltIn compares them.
# The package of PMTiles has no file of its licence: page/pmtiles/LICENSE.txt is that of its repository.
set -eu
cd "$(dirname "$0")"
modules=../../../examples/browsertest/node_modules
cd page
mkdir -p maplibre pmtiles
cp "$modules/maplibre-gl/LICENSE.txt" maplibre/LICENSE.txt
for name in maplibre-gl.mjs maplibre-gl-worker.mjs maplibre-gl.css; do
	gzip -9 -n -c "$modules/maplibre-gl/dist/$name" >"maplibre/$name.gz"
done
cp "$modules/fflate/LICENSE" pmtiles/LICENSE-fflate.txt # it is part of the reader
sed '/^\/\/# sourceMappingURL=/d' "$modules/pmtiles/dist/pmtiles.js" | gzip -9 -n -c >pmtiles/pmtiles.js.gz
