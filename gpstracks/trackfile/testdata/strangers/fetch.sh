#!/bin/sh
# fetch.sh DIR gets the packages of list.txt that can be got, says which cannot, puts their files into DIR/files, and has
# answers.mjs write what other readers say of them to DIR/answers.json. TestStrangers compares DIR then.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/files" "$1/got" "$1/readers"
dir=$(cd "$1" && pwd)
cd "$dir/got"
[ -f go.mod ] || printf 'module got\n' >go.mod
grep -v '^#' "$here/list.txt" | while read -r kind address sum licence folder; do
	file=$(basename "$address")
	if [ "$kind" = go ]; then
		file=$(go mod download -json "$address" 2>/dev/null | sed -n 's/.*"Zip": "\(.*\)".*/\1/p')
	elif [ ! -f "$file" ]; then
		curl -fsSL -o "$file" "http://deb.debian.org/debian/pool/main/$address" 2>/dev/null || rm -f "$file"
	fi
	if [ -z "$file" ] || [ ! -f "$file" ]; then
		echo "cannot be got: $address ($licence)"
		continue
	fi
	if ! echo "$sum  $file" | sha256sum -c --status; then
		echo "is another file than list.txt says: $address"
		continue
	fi
	rm -rf out && mkdir out
	case $file in
	*.zip) unzip -qo "$file" -d out ;;
	*) tar -xf "$file" -C out ;;
	esac
	find out -type f -path "*/$folder/*" -size +0 | grep -iE '\.(fit|gpx|tcx|kml|kmz|igc|nmea|hrm)$' | while read -r one; do
		cp "$one" "$dir/files/$(basename "$address" | sed 's/[@_.].*//')-$(echo "${one#*"/$folder/"}" | tr '/ ' '--')"
	done
	echo "got $address ($licence)"
done
rm -rf out
cd "$dir/readers"
[ -d node_modules/@garmin ] || npm install --silent --no-audit --no-fund --prefix . @garmin/fitsdk@21.217.0 fit-file-parser@6.1.2 \
	@tmcw/togeojson@7.1.3 gpxparser@3.0.8 @xmldom/xmldom@0.9.12 jsdom@22.1.0 jsdom-global@3.0.2
node "$here/answers.mjs" "$dir/files" >"$dir/answers.json"
node "$here/answers.mjs" "$here" >"$dir/kept.json"
cmp "$dir/kept.json" "$here/answers.json" || echo "the answers of the files that are kept have changed: look at $dir/kept.json"
echo "$(ls "$dir/files" | wc -l) files are in $dir/files"
